// Task: the intrusive base of everything schedulable (fibers; later coroutines). WakeKey: the right to try to end one
// particular wait of a task. A wake calls home->enqueue(task) for every kind of task. docs/adr/0001.
#pragma once

#include <cstdint>

#include <weft/scheduler/detail/park_token.hpp>
#include <weft/scheduler/detail/task_state.hpp>

namespace weft {

struct Task;

// Makes woken tasks runnable. Context of enqueue(): any thread; never blocks, allocates or throws.
class TaskScheduler {
  public:
    virtual void enqueue(Task& task) noexcept = 0;

  protected:
    ~TaskScheduler() = default;
};

struct Task {
    explicit Task(TaskScheduler& home) noexcept : home(&home) {}
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    Task* next = nullptr;  // the link in the queue that holds the task
    TaskScheduler* home;   // immutable after construction
    detail::ParkToken park;
    detail::TaskState state;
};

// Why a wait ended. Values below `timeout` are branches that the waiter defines, such as which of two resources is
// ready.
enum class WakeReason : std::uint8_t { resource = 0, timeout = 253, cancelled = 254, shutdown = 255 };

// Identifies one branch of one wait. Copyable. Using a key is valid only while the task lives: the waiter must withdraw
// its keys (under the object's lock, or on the waiter's carrier) before its call returns.
class WakeKey {
  public:
    WakeKey() = default;
    WakeKey(Task& task, detail::ParkToken::Epoch epoch, WakeReason branch) noexcept
        : task_(&task), epoch_(epoch), branch_(branch) {}

    // Ends the wait unless it has ended already; true if this call ended it. Do not touch the waiter after the call.
    // Context: any thread; never blocks, allocates or throws. Ordering: the waiter sees everything that the caller
    // wrote before.
    bool wake() const noexcept {
        switch (claim()) {
            case detail::Claim::lost: return false;
            case detail::Claim::early: return true;
            case detail::Claim::enqueue: break;
        }
        enqueue();
        return true;
    }
    // The two steps of wake(), for callers that end waits under a lock. claim() ends the wait. If it returns
    // Claim::enqueue, the caller must call enqueue(); until then the waiter does not run and its stack stays valid.
    // Context and ordering: as wake().
    detail::Claim claim() const noexcept { return task_->park.claim(epoch_, static_cast<std::uint8_t>(branch_)); }
    void enqueue() const noexcept { task_->home->enqueue(*task_); }
    explicit operator bool() const noexcept { return task_ != nullptr; }

  private:
    Task* task_ = nullptr;
    detail::ParkToken::Epoch epoch_ = 0;
    WakeReason branch_ = WakeReason::resource;
};

}  // namespace weft
