// BasicMutex: the core of sync::Mutex and sync::FairMutex: a word and a queue of waiters.
// docs/explanation/protocol.md section 19, docs/adr/0025.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// S: the atomics, the waits, the deadlines and the lock of the queue. Fairness decides whether an unlock hands the
// mutex over to the first waiter: `Fairness::Stamp` is a value taken when a wait begins, `Fairness::handsOver(stamp)`
// is asked when the mutex is unlocked. Otherwise the unlock frees the mutex and wakes the first waiter, and the first
// thread that tries gets it.
//
// The word: [waiting | locked]. Writers: any thread that takes or releases the mutex; `waiting` is set and cleared
// under the queue's lock. `waiting` is set if and only if the queue is not empty, once that lock is free.
template <class S, class Fairness>
class BasicMutex {
    using Wait = typename S::Wait;
    using Until = typename S::Until;

  public:
    bool tryLock() noexcept {
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        while ((seen & locked) == 0) {
            if (word_.compare_exchange_weak(seen, seen | locked, std::memory_order_acquire,  // [M1]
                                            std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }
    // After tryLock() has failed. Errors: timedOut(), operationAborted(); the caller then does not hold the mutex.
    // Throws BlockingOperationException, which names `call`, where nothing may block.
    [[gnu::noinline]] ErrorCode lockSlow(Until until, const char* call) {
        return acquire(call, [until](Wait& wait) { return wait.park(until); });
    }
    // The same, but only the mutex ends the wait.
    [[gnu::noinline]] void lockSlowUninterruptibly(const char* call) {
        static_cast<void>(acquire(call, [](Wait& wait) { return wait.parkUninterruptibly(); }));
    }

    // The mutex may be destroyed as soon as another thread or fiber holds it, or can take it: no access follows the
    // release or the hand-over.
    void unlock() noexcept {
        std::uint32_t expected = locked;
        if (!word_.compare_exchange_strong(expected, 0, std::memory_order_release,  // [M1]
                                           std::memory_order_relaxed)) [[unlikely]] {
            unlockSlow();
        }
    }

    bool isLocked() const noexcept { return word_.load(std::memory_order_relaxed) & locked; }  // may be outdated
    std::size_t waiters() const noexcept {
        const typename S::QueueLock held(this);
        return queue_.size();
    }

  private:
    static constexpr std::uint32_t locked = 1;
    static constexpr std::uint32_t waiting = 2;
    struct Request {
        std::optional<typename Fairness::Stamp> since;  // the first time that the waiter waited in this call
        typename S::template Plain<bool> handedOver{false};
    };
    using Queue = BasicWaiterQueue<Wait, Request, S>;
    using Waiter = typename Queue::Waiter;
    using Woken = typename Queue::Woken;

    template <class Park>
    ErrorCode acquire(const char* call, Park park) {
        Waiter waiter;
        for (;;) {
            Wait wait(call);
            if (takeOrQueue(waiter, wait)) return {};
            const WakeReason why = park(wait);
            if (why != WakeReason::resource) {
                leaveQueue(waiter);
                return errorOf(why);
            }
            if (waiter.handedOver) return {};
        }
    }

    // True: the mutex was free, and the caller holds it. A waiter that has been woken and finds it taken again keeps
    // its place at the head of the queue.
    bool takeOrQueue(Waiter& waiter, Wait& wait) {
        const typename S::QueueLock held(this);
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        for (;;) {
            const bool isFree = (seen & locked) == 0;
            if (!isFree && (seen & waiting) != 0) break;
            if (word_.compare_exchange_weak(seen, seen | (isFree ? locked : waiting),
                                            std::memory_order_acquire,  // [M1]; [M2] relaxed suffices for `waiting`
                                            std::memory_order_relaxed)) {
                if (isFree) return true;
                break;
            }
        }
        waiter.key = wait.key();
        if (waiter.since) {
            queue_.prepend(waiter);
        } else {
            waiter.since = Fairness::now();
            queue_.append(waiter);
        }
        return false;
    }

    // The wait ended by its deadline or a cancellation. If an unlock has removed the waiter, it has not ended the wait,
    // and has gone on to the next waiter.
    void leaveQueue(Waiter& waiter) noexcept {
        const typename S::QueueLock held(this);
        if (!waiter.linked) return;
        queue_.remove(waiter);
        if (queue_.empty()) word_.fetch_and(~waiting, std::memory_order_relaxed);  // [M2]
    }

    // There are waiters, or were until a moment ago.
    [[gnu::noinline]] void unlockSlow() noexcept {
        Woken woken;
        passOn(woken);
        woken.resume();
    }
    void passOn(Woken& woken) noexcept {
        const typename S::QueueLock held(this);
        while (Waiter* const first = queue_.first()) {
            queue_.remove(*first);
            const bool last = queue_.empty();
            const bool handsOver = Fairness::handsOver(*first->since);
            first->handedOver = handsOver;
            if (handsOver) {
                // Nothing else writes: the caller holds the mutex and the queue's lock.
                if (last) word_.store(locked, std::memory_order_relaxed);  // [M2]
                if (Queue::end(*first, woken)) return;                     // [M1] by the wake
            } else if (Queue::end(*first, woken)) {
                return word_.store(last ? 0 : waiting, std::memory_order_release);  // [M1] [M2]
            }
        }
        word_.store(0, std::memory_order_release);  // [M1] [M2]
    }

    typename S::template Atomic<std::uint32_t> word_{0};
    Queue queue_;
};

}  // namespace weft::detail
