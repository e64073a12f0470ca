// BasicWaitGroup: the core of sync::WaitGroup: a count, and a queue of the callers that wait for zero.
// docs/explanation/protocol.md section 19, docs/adr/0025.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// S: the atomics, the waits, the deadlines and the lock of the queue.
//
// The word: [count:31 | waiting:1]. All writes are read-modify-writes. `waiting` is set if and only if the queue is not
// empty, once that lock is free; while it is set, the count reaches zero under that lock only, so `waiting` is never
// set with a count of zero: a waiter that gives up leaves nothing behind that could end the waits of the group's next
// use.
template <class S>
class BasicWaitGroup {
    using Wait = typename S::Wait;
    using Until = typename S::Until;
    using Queue = BasicWaiterQueue<Wait, NoRequest, S>;
    using Waiter = typename Queue::Waiter;
    using Woken = typename Queue::Woken;

  public:
    static constexpr std::uint32_t most = (std::uint32_t{1} << 31) - 1;

    std::uint32_t count() const noexcept { return word_.load(std::memory_order_acquire) / one; }  // [M8]

    // False, without a change, if the count would be more than `most`.
    [[nodiscard]] bool add(std::uint32_t count) noexcept {
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        do {
            if (count > most - seen / one) return false;
        } while (!word_.compare_exchange_weak(seen, seen + count * one, std::memory_order_relaxed,  // [M8] only a start
                                              std::memory_order_relaxed));
        return true;
    }
    // False, without a change, if the count is zero. The object may be destroyed as soon as a waiter has returned.
    [[nodiscard]] bool done() noexcept {
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        while (seen != (one | waiting)) {
            if (seen / one == 0) return false;
            if (word_.compare_exchange_weak(seen, seen - one, std::memory_order_release,  // [M8]
                                            std::memory_order_relaxed)) {
                return true;
            }
        }
        return doneSlow();
    }

    // True if the count is zero. No done() call then uses this object, once the waiters have returned.
    bool isSettled() const noexcept { return word_.load(std::memory_order_acquire) == 0; }  // [M8]
    // After isSettled() has returned false. Errors: timedOut(), operationAborted(). Throws BlockingOperationException,
    // which names `call`, where nothing may block.
    [[gnu::noinline]] ErrorCode wait(Until until, const char* call) {
        Waiter waiter;
        Wait wait(call);
        if (settledOrQueue(waiter, wait)) return {};
        const WakeReason why = wait.park(until);
        if (why == WakeReason::resource) return {};
        leaveQueue(waiter);
        return errorOf(why);
    }

    std::size_t waiters() const noexcept {
        const typename S::QueueLock held(this);
        return queue_.size();
    }

  private:
    static constexpr std::uint32_t waiting = 1;
    static constexpr std::uint32_t one = 2;

    bool settledOrQueue(Waiter& waiter, Wait& wait) {
        const typename S::QueueLock held(this);
        std::uint32_t seen = word_.load(std::memory_order_acquire);  // [M8]
        while ((seen & waiting) == 0) {
            if (seen == 0) return true;
            if (word_.compare_exchange_weak(seen, seen | waiting, std::memory_order_acquire,  // [M8]
                                            std::memory_order_acquire)) {
                break;
            }
        }
        waiter.key = wait.key();
        queue_.append(waiter);
        return false;
    }

    void leaveQueue(Waiter& waiter) noexcept {
        const typename S::QueueLock held(this);
        if (!waiter.linked) return;
        queue_.remove(waiter);
        if (queue_.empty()) word_.fetch_and(~waiting, std::memory_order_relaxed);  // [M8] the count stays
    }

    [[gnu::noinline]] bool doneSlow() noexcept {
        Woken woken;
        const bool counted = doneLocked(woken);
        woken.resume();
        return counted;
    }
    // The waiters keep the object alive until their waits end.
    bool doneLocked(Woken& woken) noexcept {
        const typename S::QueueLock held(this);
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        while (seen / one != 0) {
            const bool last = seen == (one | waiting);
            if (word_.compare_exchange_weak(seen, last ? 0 : seen - one, std::memory_order_acq_rel,  // [M8]
                                            std::memory_order_relaxed)) {
                if (last) Queue::endAll(queue_.takeAll(), woken);
                return true;
            }
        }
        return false;
    }

    typename S::template Atomic<std::uint32_t> word_{0};
    Queue queue_;
};

}  // namespace weft::detail
