// BasicNotify: the core of sync::Notify: a word and a queue of waiters. docs/explanation/protocol.md section
// 19, docs/adr/0025.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// S: the atomics, the waits, the deadlines and the lock of the queue.
//
// The word: [generation:30 | stored:1 | waiting:1]. `stored`: a notification that the next wait consumes. The
// generation is the number of notifyAll() calls. All writes are read-modify-writes; while `waiting` is set, only under
// the queue's lock. `waiting` is set if and only if the queue is not empty, once that lock is free.
template <class S>
class BasicNotify {
    using Wait = typename S::Wait;
    using Until = typename S::Until;
    using Queue = BasicWaiterQueue<Wait, NoRequest, S>;

  public:
    using Generation = std::uint32_t;
    using Waiter = typename Queue::Waiter;

    Generation generation() const noexcept { return generationIn(word_.load(std::memory_order_acquire)); }  // [M5]

    // Consumes the stored notification.
    bool tryConsume() noexcept {
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        while ((seen & stored) != 0) {
            if (word_.compare_exchange_weak(seen, seen & ~stored, std::memory_order_acquire,  // [M5]
                                            std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }
    // Consumes the stored notification, or finds that the generation is another one than `since`.
    bool isReady(Generation since) noexcept { return tryConsume() || generation() != since; }
    // Waits until isReady(). Errors: timedOut(), operationAborted(). Throws BlockingOperationException, which names
    // `call`, where nothing may block.
    [[gnu::noinline]] ErrorCode wait(Generation since, Until until, const char* call) {
        Waiter waiter;
        for (;;) {
            Wait wait(call);
            waiter.key = wait.key();
            if (enlist(waiter, since)) {
                const WakeReason why = wait.park(until);
                if (why == WakeReason::resource) return {};
                withdraw(waiter);
                return errorOf(why);
            }
            if (isReady(since)) return {};
        }
    }

    // The two halves of a wait. enlist() returns false if isReady() would have returned true. Otherwise `waiter` is in
    // the queue, and its wait ends with its key, or the caller must call withdraw().
    [[nodiscard]] bool enlist(Waiter& waiter, Generation since) noexcept {
        const typename S::QueueLock held(this);
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // isReady() acquires what this finds [M5]
        do {
            if (generationIn(seen) != since || (seen & stored) != 0) return false;
        } while ((seen & waiting) == 0 &&
                 !word_.compare_exchange_weak(seen, seen | waiting, std::memory_order_relaxed,  // [M6]
                                              std::memory_order_relaxed));
        queue_.append(waiter);
        return true;
    }
    void withdraw(Waiter& waiter) noexcept {
        const typename S::QueueLock held(this);
        if (!waiter.linked) return;
        queue_.remove(waiter);
        if (queue_.empty()) word_.fetch_and(~waiting, std::memory_order_relaxed);  // [M6]
    }

    void notifyOne() noexcept {
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        while ((seen & waiting) == 0) {
            if (word_.compare_exchange_weak(seen, seen | stored, std::memory_order_release,  // [M5]
                                            std::memory_order_relaxed)) {
                return;
            }
        }
        notifyOneSlow();
    }
    void notifyAll() noexcept {
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        while ((seen & waiting) == 0) {
            if (word_.compare_exchange_weak(seen, seen + oneGeneration, std::memory_order_release,  // [M5]
                                            std::memory_order_relaxed)) {
                return;
            }
        }
        notifyAllSlow();
    }

    std::size_t waiters() const noexcept {
        const typename S::QueueLock held(this);
        return queue_.size();
    }

  private:
    static constexpr std::uint32_t waiting = 1;
    static constexpr std::uint32_t stored = 2;
    static constexpr std::uint32_t oneGeneration = 4;
    using Woken = typename Queue::Woken;

    static Generation generationIn(std::uint32_t word) noexcept { return word / oneGeneration; }

    [[gnu::noinline]] void notifyOneSlow() noexcept {
        Woken woken;
        notifyFirst(woken);
        woken.resume();
    }
    // The word says that there are no more waiters before the last one's wait ends: it may then destroy the object.
    void notifyFirst(Woken& woken) noexcept {
        const typename S::QueueLock held(this);
        while (Waiter* const first = queue_.first()) {
            queue_.remove(*first);
            if (queue_.empty()) word_.fetch_and(~waiting, std::memory_order_relaxed);  // [M6]
            if (Queue::end(*first, woken)) return;
        }
        word_.fetch_or(stored, std::memory_order_release);  // [M5]
    }
    [[gnu::noinline]] void notifyAllSlow() noexcept {
        Woken woken;
        endAll(woken);
        woken.resume();
    }
    void endAll(Woken& woken) noexcept {
        const typename S::QueueLock held(this);
        Waiter* const all = queue_.takeAll();
        const std::uint32_t bit = word_.load(std::memory_order_relaxed) & waiting;  // changes under this lock only
        word_.fetch_add(oneGeneration - bit, std::memory_order_release);            // [M5] [M6]
        Queue::endAll(all, woken);
    }

    typename S::template Atomic<std::uint32_t> word_{0};
    Queue queue_;
};

}  // namespace weft::detail
