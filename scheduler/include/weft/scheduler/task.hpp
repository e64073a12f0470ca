// Task: the intrusive header that everything schedulable shares (fibers; later coroutines), and WakeKey, the right to
// try to end one particular wait of one. A wake ends in home->enqueue(task), whatever the task is. docs/adr/0001.
#pragma once

#include <cstdint>

#include <weft/scheduler/detail/park_token.hpp>
#include <weft/scheduler/detail/task_state.hpp>

namespace weft {

struct Task;

// Where a task's wakes go. Context of enqueue(): any thread; never blocks, allocates or throws.
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

    Task* next = nullptr;  // the link of whichever queue the task is in
    TaskScheduler* home;   // immutable after construction
    detail::ParkToken park;
    detail::TaskState state;
};

// Why a wait ended. Values below `timeout` are the waiter's own branches (which resource).
enum class WakeReason : std::uint8_t { resource = 0, timeout = 253, cancelled = 254, shutdown = 255 };

// Names one branch of one wait. Copyable; valid while the waiter cannot have ended the wait unseen: the holder unlinks
// it (under the object's lock, or on the waiter's carrier) before the waiter returns.
class WakeKey {
  public:
    WakeKey() = default;
    WakeKey(Task& task, detail::ParkToken::Epoch epoch, WakeReason branch) noexcept
        : task_(&task), epoch_(epoch), branch_(branch) {}

    // Ends the wait if nobody else has; true when this call did. After it the waiter must not be touched.
    // Context: any thread; never blocks, allocates or throws. Ordering: what the caller wrote before is seen after.
    bool wake() const noexcept {
        switch (claim()) {
            case detail::Claim::lost:
                return false;
            case detail::Claim::early:
                return true;
            case detail::Claim::enqueue:
                break;
        }
        enqueue();
        return true;
    }
    // The halves of wake(): claim() ends the wait, and after Claim::enqueue the waiter does not run, and what is on its
    // stack stays, until the caller calls enqueue(). For callers that end waits under a lock. Context, ordering: as
    // wake().
    detail::Claim claim() const noexcept { return task_->park.claim(epoch_, static_cast<std::uint8_t>(branch_)); }
    void enqueue() const noexcept { task_->home->enqueue(*task_); }
    explicit operator bool() const noexcept { return task_ != nullptr; }

  private:
    Task* task_ = nullptr;
    detail::ParkToken::Epoch epoch_ = 0;
    WakeReason branch_ = WakeReason::resource;
};

}  // namespace weft
