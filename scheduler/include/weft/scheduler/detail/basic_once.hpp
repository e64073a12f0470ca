// BasicOnce: the core of sync::OnceCell: which caller initialises, and the callers that wait for it.
// docs/explanation/protocol.md section 19.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

enum class OnceState : std::uint32_t { empty, initializing, done };

// S: the atomics, the waits, the deadlines and the lock of the queue, under which the state changes.
template <class S>
class BasicOnce {
    using Wait = typename S::Wait;
    using Until = typename S::Until;
    using Queue = BasicWaiterQueue<Wait, NoRequest, S>;
    using Waiter = typename Queue::Waiter;
    using Woken = typename Queue::Woken;

  public:
    bool isDone() const noexcept { return state_.load(std::memory_order_acquire) == OnceState::done; }  // [M9]

    // True: the caller must initialise, then call finish(). Otherwise the state is the one returned in `found`.
    [[nodiscard]] bool tryBegin(OnceState& found) noexcept {
        const typename S::QueueLock held(this);
        found = state_.load(std::memory_order_relaxed);  // it changes under this lock only
        if (found != OnceState::empty) return false;
        state_.store(OnceState::initializing, std::memory_order_relaxed);  // nothing is published yet
        return true;
    }
    // As tryBegin(), but waits while another caller initialises. After a call without an error, `begun` is true (the
    // caller must initialise, then call finish()) or isDone() is. Errors: timedOut(), operationAborted(). Throws
    // BlockingOperationException, which names `call`, where nothing may block.
    ErrorCode begin(bool& begun, Until until, const char* call) {
        for (;;) {
            OnceState found;
            begun = tryBegin(found);
            if (begun || found == OnceState::done) return {};
            Waiter waiter;
            Wait wait(call);
            if (!queueBehindInitializer(waiter, wait)) continue;
            const WakeReason why = wait.park(until);
            if (why == WakeReason::resource) continue;
            leaveQueue(waiter);
            return errorOf(why);
        }
    }
    // The caller has initialised (`done`), or has failed to; then one of the waiters begins. The object may be
    // destroyed as soon as a caller finds it done.
    void finish(bool done) noexcept {
        Woken woken;
        publish(done, woken);
        woken.resume();
    }

    std::size_t waiters() const noexcept {
        const typename S::QueueLock held(this);
        return queue_.size();
    }

  private:
    bool queueBehindInitializer(Waiter& waiter, Wait& wait) {
        const typename S::QueueLock held(this);
        if (state_.load(std::memory_order_relaxed) != OnceState::initializing) return false;  // the caller checks again
        waiter.key = wait.key();
        queue_.append(waiter);
        return true;
    }
    void leaveQueue(Waiter& waiter) noexcept {
        const typename S::QueueLock held(this);
        queue_.remove(waiter);
    }
    void publish(bool done, Woken& woken) noexcept {
        const typename S::QueueLock held(this);
        if (done) {
            Waiter* const all = queue_.takeAll();
            state_.store(OnceState::done, std::memory_order_release);  // [M9]
            return Queue::endAll(all, woken);
        }
        state_.store(OnceState::empty, std::memory_order_relaxed);  // nothing is published
        while (Waiter* const first = queue_.first()) {
            queue_.remove(*first);
            if (Queue::end(*first, woken)) return;
        }
    }

    typename S::template Atomic<OnceState> state_{OnceState::empty};
    Queue queue_;
};

}  // namespace weft::detail
