// sync::Condition: fibers and threads wait until another one changes what a mutex guards.
#pragma once

#include <concepts>
#include <cstddef>
#include <mutex>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_condition.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::sync {

// For Mutex and FairMutex. Every wait takes a std::unique_lock that owns its mutex, unlocks the mutex, waits, and locks
// it again without interruption, also if it throws.
//     std::unique_lock held(mutex);
//     filled.wait(held, [&] { return !items.empty(); });
class Condition {
  public:
    Condition() = default;
    // No fiber or thread may wait, except that waiters that have been notified may still wait for their mutex.
    ~Condition() = default;
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;

    // Waits for a notification. If the fiber is cancelled or its carrier shuts down, the throwing overload throws
    // SystemError(operation_aborted), the other sets `error`. Context: a fiber or a plain thread, where blocking is
    // allowed; elsewhere both throw BlockingOperationException. Never allocates. Notifications are not stored and one
    // wait may consume a notification that was meant for another, so check the condition in a loop, or use the forms
    // with a predicate.
    template <class Mutex>
    void wait(std::unique_lock<Mutex>& lock) {
        detail::throwOnError(waitOr(lock, never, "sync::Condition::wait"), "sync::Condition::wait");
    }
    template <class Mutex>
    void wait(std::unique_lock<Mutex>& lock, ErrorCode& error) {
        error = waitOr(lock, never, "sync::Condition::wait");
    }
    // The same with a deadline, at which it returns false (or sets `error` to timed_out).
    template <class Mutex>
    [[nodiscard]] bool waitUntil(std::unique_lock<Mutex>& lock, Deadline deadline) {
        constexpr const char* call = "sync::Condition::waitUntil";
        return detail::falseOnTimeout(waitOr(lock, deadline, call), call);
    }
    template <class Mutex>
    [[nodiscard]] bool waitUntil(std::unique_lock<Mutex>& lock, Deadline deadline, ErrorCode& error) {
        error = waitOr(lock, deadline, "sync::Condition::waitUntil");
        return !error;
    }

    // Waits until `ready()`, called with the mutex locked, returns true.
    template <class Mutex, std::predicate Ready>
    void wait(std::unique_lock<Mutex>& lock, Ready ready) {
        while (!ready()) wait(lock);
    }
    template <class Mutex, std::predicate Ready>
    void wait(std::unique_lock<Mutex>& lock, ErrorCode& error, Ready ready) {
        error = {};
        while (!error && !ready()) wait(lock, error);
    }
    // The same with a deadline; returns the last result of `ready()`.
    template <class Mutex, std::predicate Ready>
    [[nodiscard]] bool waitUntil(std::unique_lock<Mutex>& lock, Deadline deadline, Ready ready) {
        while (!ready()) {
            if (!waitUntil(lock, deadline)) return ready();
        }
        return true;
    }
    // If it returns false, `error` is the reason.
    template <class Mutex, std::predicate Ready>
    [[nodiscard]] bool waitUntil(std::unique_lock<Mutex>& lock, Deadline deadline, ErrorCode& error, Ready ready) {
        error = {};
        while (!ready()) {
            if (waitUntil(lock, deadline, error)) continue;
            if (!ready()) return false;
            error = {};
        }
        return true;
    }

    // Ends the wait of one waiter, the first that waits, or of all. Does nothing without one. Any thread, with the
    // mutex locked or after the condition has been changed with the mutex locked; never blocks, allocates or throws.
    void notifyOne() noexcept { core_.notifyOne(); }
    void notifyAll() noexcept { core_.notifyAll(); }

    // May be outdated when it returns. Any thread.
    std::size_t waiters() const noexcept { return core_.waiters(); }

  private:
    template <class Mutex>
    ErrorCode waitOr(std::unique_lock<Mutex>& lock, Deadline deadline, const char* call) {
        WEFT_ASSERT(lock.owns_lock(), "sync::Condition: the lock does not own its mutex");
        return core_.wait(*lock.mutex(), deadline, call);
    }

    detail::BasicCondition<detail::NativeSync> core_;
};

}  // namespace weft::sync
