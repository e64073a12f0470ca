// sync::Mutex, sync::FairMutex: mutual exclusion of fibers and threads. A fiber that waits for the lock lets the other
// fibers of its carrier run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_mutex.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// The names of the calls in errors and in the fiber dump.
struct LockCalls {
    const char* lock;
    const char* lockUninterruptibly;
    const char* tryLockUntil;
};

// The first waiter gets the lock if it has waited for a millisecond.
struct EventualFairness {
    static constexpr LockCalls calls{"sync::Mutex::lock", "sync::Mutex::lockUninterruptibly",
                                     "sync::Mutex::try_lock_until"};
    using Stamp = TimePoint;
    static Stamp now() noexcept { return Clock::steady().now(); }
    static bool handsOver(Stamp since) noexcept;
};

// The first waiter always gets the lock.
struct FifoFairness {
    static constexpr LockCalls calls{"sync::FairMutex::lock", "sync::FairMutex::lockUninterruptibly",
                                     "sync::FairMutex::try_lock_until"};
    struct Stamp {};
    static Stamp now() noexcept { return {}; }
    static bool handsOver(Stamp) noexcept { return true; }
};

// The lock calls of both mutexes. They satisfy the standard's requirements of a TimedLockable, so std::lock_guard,
// std::unique_lock and std::scoped_lock are the guards.
template <class Fairness>
class FiberMutex {
  public:
    FiberMutex() = default;
    // No fiber or thread may hold the lock or wait for it. After an unlock(), a fiber that then holds the lock may
    // unlock and destroy the mutex even if the first unlock() has not returned yet.
    ~FiberMutex() = default;
    FiberMutex(const FiberMutex&) = delete;
    FiberMutex& operator=(const FiberMutex&) = delete;

    // Waits until the caller holds the lock. If the fiber is cancelled during the wait or its carrier shuts down, the
    // throwing overload throws SystemError(operation_aborted), the other sets `error`; the caller then does not hold
    // the lock. A lock that is free is taken without a check for cancellation.
    // Context: a fiber or a plain thread. Where nothing may block, a lock that is free is taken, and for one that is
    // held both overloads throw BlockingOperationException. Never allocates.
    // A fiber or thread that locks the mutex again after it was the last to lock it, while it is still locked, fails an
    // assertion.
    void lock() {
        if (!core_.tryLock()) [[unlikely]]
            lockSlow();
        noteOwner();
    }
    void lock(ErrorCode& error) {
        error = core_.tryLock() ? ErrorCode() : lockSlowUntil(never, Fairness::calls.lock);
        if (!error) noteOwner();
    }
    // As lock(), but only the lock ends the wait, not a cancellation or a shutdown. For code that must have the lock,
    // such as a destructor. The carrier cannot end before the wait does.
    void lockUninterruptibly() {
        if (!core_.tryLock()) [[unlikely]]
            lockSlowUninterruptibly();
        noteOwner();
    }

    // True: the caller holds the lock. Never blocks. Any thread.
    [[nodiscard]] bool try_lock() noexcept {
        if (!core_.tryLock()) return false;
        noteOwner();
        return true;
    }
    // As lock(), but at the deadline returns false (or sets `error` to timed_out).
    [[nodiscard]] bool try_lock_until(Deadline deadline);
    [[nodiscard]] bool try_lock_until(Deadline deadline, ErrorCode& error) {
        error = core_.tryLock() ? ErrorCode() : lockSlowUntil(deadline, Fairness::calls.tryLockUntil);
        if (!error) noteOwner();
        return !error;
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> time) {
        return try_lock_until(deadlineAfter(saturated(time)));
    }

    // The mutex must be locked; else an assertion fails. Context: any fiber or thread, also one that did not lock the
    // mutex. Never blocks, allocates or throws.
    void unlock() noexcept {
        WEFT_ASSERT(core_.isLocked(), "a mutex is unlocked that is not locked");
        owner_.store(0, std::memory_order_relaxed);  // for the assertion of lock() only
        core_.unlock();
    }

    // Both may be outdated when they return. Any thread.
    bool isLocked() const noexcept { return core_.isLocked(); }
    std::size_t waiters() const noexcept { return core_.waiters(); }

  private:
    void lockSlow();
    void lockSlowUninterruptibly();
    ErrorCode lockSlowUntil(Deadline deadline, const char* call);
    void assertNotOwner() const;
    void noteOwner() noexcept;

    BasicMutex<NativeSync, Fairness> core_;
    std::atomic<std::uint64_t> owner_{0};  // callerId() of the last to lock; relaxed: compared with the caller's own
};

extern template class FiberMutex<EventualFairness>;
extern template class FiberMutex<FifoFairness>;

}  // namespace weft::detail

namespace weft::sync {

// After an unlock the first fiber or thread that tries gets the lock, which is fastest; but a waiter that has waited
// for a millisecond gets it at the next unlock. Example:
//     sync::Mutex mutex;
//     std::lock_guard held(mutex);  // other fibers run while this one waits; it may block while it holds the lock
// Source: the eventual fairness of WebKit's WTF::Lock.
class Mutex : public detail::FiberMutex<detail::EventualFairness> {};

// Gives the lock to the waiters in the order in which they began to wait, and lets no other fiber overtake them. Each
// unlock is then followed by a switch to the next owner, so with several carriers it is several times slower than
// Mutex.
class FairMutex : public detail::FiberMutex<detail::FifoFairness> {};

}  // namespace weft::sync
