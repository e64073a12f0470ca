// BasicSemaphore: the core of sync::Semaphore and sync::RwLock: a word, and a first-in first-out queue of requests.
// docs/explanation/protocol.md section 19, docs/adr/0025.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// S: the atomics, the waits, the deadlines and the lock of the queue.
//
// The word: [permits:30 | closed:1 | waiting:1]. Writers: any thread that acquires or releases; while `waiting` is set
// only under the queue's lock. All writes are read-modify-writes. `waiting` is set if and only if the queue is not
// empty, once that lock is free. So a request never overtakes one that waits.
template <class S>
class BasicSemaphore {
    using Wait = typename S::Wait;
    using Until = typename S::Until;

  public:
    static constexpr std::uint32_t most = (std::uint32_t{1} << 30) - 1;

    explicit BasicSemaphore(std::uint32_t permits) noexcept : word_(permits * permit) {}

    bool tryAcquire(std::uint32_t count) noexcept {
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        return take(seen, count);
    }
    // After tryAcquire() has failed. Errors: closed (EPIPE), timedOut(), operationAborted(); the caller then has no
    // permit of this call. Throws BlockingOperationException, which names `call`, where nothing may block.
    [[gnu::noinline]] ErrorCode acquireSlow(std::uint32_t count, Until until, const char* call) {
        return acquire(count, call, [until](Wait& wait) { return wait.park(until); });
    }
    // The same, but only the semaphore ends the wait. Error: closed.
    [[gnu::noinline]] ErrorCode acquireSlowUninterruptibly(std::uint32_t count, const char* call) {
        return acquire(count, call, [](Wait& wait) { return wait.parkUninterruptibly(); });
    }

    // The semaphore may be destroyed as soon as the waiter that these permits were the last to satisfy has returned, or
    // as soon as another thread has acquired them: no access follows. Returns false, and adds nothing, if there would
    // be more than `most` permits.
    [[nodiscard]] bool release(std::uint32_t count) noexcept {
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        while ((seen & waiting) == 0) {
            if (count > most - permitsIn(seen)) return false;
            if (word_.compare_exchange_weak(seen, seen + count * permit, std::memory_order_release,  // [M3]
                                            std::memory_order_relaxed)) {
                return true;
            }
        }
        return releaseSlow(count);
    }

    // Every waiter and every later request fails. False if it was closed before.
    bool close() noexcept {
        Woken woken;
        const bool first = refuseAll(woken);
        woken.resume();
        return first;
    }
    // Removes up to `count` free permits; returns how many.
    std::uint32_t forget(std::uint32_t count) noexcept {
        const typename S::QueueLock held(this);
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        for (;;) {
            const std::uint32_t removed = count < permitsIn(seen) ? count : permitsIn(seen);
            if (word_.compare_exchange_weak(seen, seen - removed * permit, std::memory_order_acquire,  // [M3]
                                            std::memory_order_relaxed)) {
                return removed;
            }
        }
    }

    // May be outdated when they return.
    std::uint32_t permits() const noexcept { return permitsIn(word_.load(std::memory_order_relaxed)); }
    bool isClosed() const noexcept { return word_.load(std::memory_order_relaxed) & closed; }
    std::size_t waiters() const noexcept {
        const typename S::QueueLock held(this);
        return queue_.size();
    }

  private:
    static constexpr std::uint32_t waiting = 1;
    static constexpr std::uint32_t closed = 2;
    static constexpr std::uint32_t permit = 4;
    struct Request {
        std::uint32_t count = 0;
        typename S::template Plain<bool> refused{false};  // the semaphore was closed
    };
    using Queue = BasicWaiterQueue<Wait, Request, S>;
    using Waiter = typename Queue::Waiter;
    using Woken = typename Queue::Woken;
    enum class Start : std::uint8_t { taken, refused, queued };

    template <class Park>
    ErrorCode acquire(std::uint32_t count, const char* call, Park park) {
        Waiter waiter;
        waiter.count = count;
        Wait wait(call);
        switch (takeOrQueue(waiter, wait)) {
            case Start::taken: return {};
            case Start::refused: return fromErrno(EPIPE);
            case Start::queued: break;
        }
        const WakeReason why = park(wait);
        if (why == WakeReason::resource) return waiter.refused ? fromErrno(EPIPE) : ErrorCode();
        leaveQueue(waiter);
        return errorOf(why);
    }

    static std::uint32_t permitsIn(std::uint32_t word) noexcept { return word / permit; }

    bool take(std::uint32_t& seen, std::uint32_t count) noexcept {
        while ((seen & (waiting | closed)) == 0 && permitsIn(seen) >= count) {
            if (word_.compare_exchange_weak(seen, seen - count * permit, std::memory_order_acquire,  // [M3]
                                            std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }

    Start takeOrQueue(Waiter& waiter, Wait& wait) {
        const typename S::QueueLock held(this);
        std::uint32_t seen = word_.load(std::memory_order_relaxed);  // the compare-exchange decides
        do {
            if (take(seen, waiter.count)) return Start::taken;
            if ((seen & closed) != 0) return Start::refused;
        } while ((seen & waiting) == 0 &&
                 !word_.compare_exchange_weak(seen, seen | waiting, std::memory_order_relaxed,  // [M4]
                                              std::memory_order_relaxed));
        waiter.key = wait.key();
        queue_.append(waiter);
        return Start::queued;
    }

    // The wait ended by its deadline or a cancellation. Those behind it may have been waiting for this request only.
    void leaveQueue(Waiter& waiter) noexcept {
        Woken woken;
        {
            const typename S::QueueLock held(this);
            if (waiter.linked) {
                queue_.remove(waiter);
                if (queue_.empty()) {
                    word_.fetch_and(~waiting, std::memory_order_relaxed);  // [M4]
                } else {
                    grant(woken);
                }
            }
        }
        woken.resume();
    }

    [[gnu::noinline]] bool releaseSlow(std::uint32_t count) noexcept {
        Woken woken;
        const bool released = releaseLocked(count, woken);
        woken.resume();
        return released;
    }
    // Without waiters, the addition is the last access: it lets other threads acquire the permits.
    bool releaseLocked(std::uint32_t count, Woken& woken) noexcept {
        const typename S::QueueLock held(this);
        const bool queued = !queue_.empty();
        if (count > most - permitsIn(word_.load(std::memory_order_relaxed))) return false;  // only a bug adds more
        word_.fetch_add(count * permit, std::memory_order_release);                         // [M3]
        if (queued) grant(woken);
        return true;
    }

    // Satisfies the requests at the head of the queue, of which there is one at least. The last request is satisfied in
    // the word before its wait ends, because its waiter may then destroy the semaphore. Context: with the queue's lock.
    void grant(Woken& woken) noexcept {
        for (bool last = false; !last;) {
            Waiter& first = *queue_.first();
            if (permitsIn(word_.load(std::memory_order_relaxed)) < first.count) return;  // [M4] nothing else takes
            queue_.remove(first);
            last = queue_.empty();
            const std::uint32_t taken = first.count * permit;
            word_.fetch_sub(taken + (last ? waiting : 0), std::memory_order_acquire);  // [M3] [M4]
            // The waiter of a wait that has ended otherwise cannot return before it gets the queue's lock.
            if (!Queue::end(first, woken)) word_.fetch_add(taken, std::memory_order_relaxed);
        }
    }

    bool refuseAll(Woken& woken) noexcept {
        const typename S::QueueLock held(this);
        const std::uint32_t seen = word_.load(std::memory_order_relaxed);  // both bits change under this lock only
        Waiter* const all = queue_.takeAll();
        word_.fetch_add(((seen & closed) == 0 ? closed : 0) - (seen & waiting), std::memory_order_relaxed);  // [M4]
        Queue::endAll(all, woken, [](Waiter& waiter) { waiter.refused = true; });
        return (seen & closed) == 0;
    }

    typename S::template Atomic<std::uint32_t> word_;
    Queue queue_;
};

}  // namespace weft::detail
