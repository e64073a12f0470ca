#include "thread_task.hpp"

#include "futex.hpp"

namespace weft::detail {

ThreadTask& threadTask() noexcept {
    static thread_local ThreadTask task;
    asm volatile("" ::: "memory");
    return task;
}

void ThreadTask::enqueue(Task&) noexcept {
    runnable_.store(1, std::memory_order_release);  // [P1]
    futexWake(runnable_);
}

// Blocks until enqueue() or the deadline.
bool ThreadTask::block(Deadline deadline) noexcept {
    while (runnable_.load(std::memory_order_acquire) == 0) {  // [P1]
        if (deadline != never && Clock::steady().now() >= deadline) return false;
        futexWait(runnable_, 0, deadline);
    }
    runnable_.store(0, std::memory_order_relaxed);  // no other thread writes until the next wait begins
    return true;
}

inline bool ThreadTask::interruptDue() const noexcept {
    return task.state.isInterruptRequested() && !interrupts.holdsOffCancellation();  // [X1]
}

// Ends the thread's own wait after its commit. If another waker has won, that one calls enqueue(): consumes that wake,
// so that it does not end the next wait.
inline void ThreadTask::end(ParkToken::Epoch epoch, WakeReason why) noexcept {
    if (task.park.claim(epoch, static_cast<std::uint8_t>(why)) == Claim::lost) block(never);
}

WakeReason ThreadTask::parkUntil(ParkToken::Epoch epoch, Deadline deadline, WakeReason atDeadline) noexcept {
    if (task.park.commit(epoch)) {
        if (interruptDue()) {
            end(epoch, WakeReason::cancelled);
        } else if (!block(deadline)) {
            end(epoch, atDeadline);
        }
    }
    return static_cast<WakeReason>(task.park.finish());
}

WakeReason ThreadTask::park(ParkToken::Epoch epoch, Deadline deadline) noexcept {
    if (scopes.deadline < deadline) return parkUntil(epoch, scopes.deadline, WakeReason::cancelled);
    return parkUntil(epoch, deadline, WakeReason::timeout);
}

WakeReason ThreadTask::parkUninterruptibly(ParkToken::Epoch epoch) noexcept {
    interrupts.beginUninterruptible();  // before the commit: see InterruptMask
    const WakeReason why = parkUntil(epoch, never, WakeReason::timeout);
    interrupts.endUninterruptible();
    return why;
}

}  // namespace weft::detail
