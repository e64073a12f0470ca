// ThreadTask: a plain thread as a task, woken by a futex. Private to the scheduler.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/scheduler/detail/interrupt_mask.hpp>
#include <weft/scheduler/detail/wait_scopes.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft::detail {

// One per thread, so that it outlives the keys of the thread's waits.
class ThreadTask final : public TaskScheduler {
  public:
    ThreadTask() : task(*this) {}

    void enqueue(Task&) noexcept override;
    // As Suspension::park() and parkUninterruptibly().
    WakeReason park(ParkToken::Epoch epoch, Deadline deadline) noexcept;
    WakeReason parkUninterruptibly(ParkToken::Epoch epoch) noexcept;

    Task task;
    InterruptMask interrupts;
    WaitScopes scopes;

  private:
    bool block(Deadline deadline) noexcept;
    void end(ParkToken::Epoch epoch, WakeReason why) noexcept;
    bool interruptDue() const noexcept;
    WakeReason parkUntil(ParkToken::Epoch epoch, Deadline deadline, WakeReason atDeadline) noexcept;

    std::atomic<std::uint32_t> runnable_{0};
};

// Never inlined, so that a fiber that has moved to another thread does not use a cached address of the variable.
ThreadTask& threadTask() noexcept;

}  // namespace weft::detail
