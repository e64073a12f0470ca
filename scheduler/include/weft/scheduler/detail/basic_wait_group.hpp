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
// The word: [count:31 | waiting:1]. All writes are read-modify-writes. `waiting` is set with a count above zero under
// the queue's lock, and cleared under it once the count has reached zero or the queue is empty.
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
        do {
            if (seen / one == 0) return false;
        } while (!word_.compare_exchange_weak(seen, seen - one, std::memory_order_acq_rel,  // [M8]
                                              std::memory_order_relaxed));
        if (seen == (one | waiting)) wakeAll();
        return true;
    }

    // True if the count is zero and no done() call still uses this object.
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

    // With `waiting` set and a count of zero, the done() call that reached zero has not woken the waiters yet; so this
    // waiter waits for it, too.
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

    // If the count is zero, the done() call that has reached it clears `waiting`, and until then uses this object.
    void leaveQueue(Waiter& waiter) noexcept {
        const typename S::QueueLock held(this);
        queue_.remove(waiter);
        if (!queue_.empty()) return;
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        while (seen > one && (seen & waiting) != 0 &&
               !word_.compare_exchange_weak(seen, seen - waiting, std::memory_order_relaxed,  // [M8]
                                            std::memory_order_relaxed)) {
        }
    }

    [[gnu::noinline]] void wakeAll() noexcept {
        Woken woken;
        endAll(woken);
        woken.resume();
    }
    void endAll(Woken& woken) noexcept {
        const typename S::QueueLock held(this);
        Waiter* const all = queue_.takeAll();
        const std::uint32_t bit = word_.load(std::memory_order_relaxed) & waiting;  // changes under this lock only
        word_.fetch_sub(bit, std::memory_order_release);                            // [M8] the last access
        Queue::endAll(all, woken);
    }

    typename S::template Atomic<std::uint32_t> word_{0};
    Queue queue_;
};

}  // namespace weft::detail
