// BasicBarrier: the core of sync::Barrier. docs/explanation/protocol.md section 19.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// S: the waits, the deadlines and the lock, which guards everything.
template <class S>
class BasicBarrier {
    using Wait = typename S::Wait;
    using Until = typename S::Until;
    using Queue = BasicWaiterQueue<Wait, NoRequest, S>;
    using Waiter = typename Queue::Waiter;
    using Woken = typename Queue::Woken;

  public:
    explicit BasicBarrier(std::size_t parties) noexcept : parties_(parties) {}

    // Waits until `parties` calls wait; `leader` is true in the last of them. Errors: timedOut(), operationAborted();
    // the call then does not count. Throws BlockingOperationException, which names `call`, where nothing may block.
    ErrorCode wait(bool& leader, Until until, const char* call) {
        Waiter waiter;
        Wait wait(call);
        leader = false;
        if (Woken woken; arriveLast(waiter, wait, woken)) {
            woken.resume();
            leader = true;
            return {};
        }
        const WakeReason why = wait.park(until);
        if (why == WakeReason::resource || !leaveQueue(waiter)) return {};
        return errorOf(why);
    }

    std::size_t waiters() const noexcept {
        const typename S::QueueLock held(this);
        return queued_;
    }

  private:
    // True: this call is the last; it has ended the waits of all others, which may destroy the barrier.
    bool arriveLast(Waiter& waiter, Wait& wait, Woken& woken) {
        const typename S::QueueLock held(this);
        if (queued_ + 1 < parties_) {
            waiter.key = wait.key();
            queue_.append(waiter);
            queued_ = queued_ + 1;
            return false;
        }
        queued_ = 0;
        Queue::endAll(queue_.takeAll(), woken);
        return true;
    }
    // False: the barrier has been passed although this wait ended otherwise.
    bool leaveQueue(Waiter& waiter) noexcept {
        const typename S::QueueLock held(this);
        if (!waiter.linked) return false;
        queue_.remove(waiter);
        queued_ = queued_ - 1;
        return true;
    }

    const std::size_t parties_;
    typename S::template Plain<std::size_t> queued_{0};
    Queue queue_;
};

}  // namespace weft::detail
