// sync::RwLock: one writer or many readers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_semaphore.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::sync {

// First in, first out: once a writer waits, later readers wait after it, so readers cannot starve writers; readers that
// wait next to each other get the lock together. It satisfies the standard's requirements of a SharedTimedLockable:
// std::unique_lock is the writers' guard, std::shared_lock the readers'. A fiber that holds a shared lock and locks
// again, shared or not, may wait forever.
// Context, errors, cancellation and lifetime of every call: as the call of sync::Mutex with the same name.
class RwLock {
  public:
    RwLock() noexcept : core_(all) {}
    ~RwLock() = default;
    RwLock(const RwLock&) = delete;
    RwLock& operator=(const RwLock&) = delete;

    void lock() {
        if (!core_.tryAcquire(all)) [[unlikely]]
            lockSlow(all);
    }
    void lock(ErrorCode& error) { error = acquire(all, never); }
    [[nodiscard]] bool try_lock() noexcept { return core_.tryAcquire(all); }
    [[nodiscard]] bool try_lock_until(Deadline deadline) { return acquireUntil(all, deadline); }
    [[nodiscard]] bool try_lock_until(Deadline deadline, ErrorCode& error) {
        error = acquire(all, deadline);
        return !error;
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> time) {
        return try_lock_until(deadlineAfter(saturated(time)));
    }
    void unlock() noexcept { release(all); }

    void lock_shared() {
        if (!core_.tryAcquire(1)) [[unlikely]]
            lockSlow(1);
    }
    void lock_shared(ErrorCode& error) { error = acquire(1, never); }
    [[nodiscard]] bool try_lock_shared() noexcept { return core_.tryAcquire(1); }
    [[nodiscard]] bool try_lock_shared_until(Deadline deadline) { return acquireUntil(1, deadline); }
    [[nodiscard]] bool try_lock_shared_until(Deadline deadline, ErrorCode& error) {
        error = acquire(1, deadline);
        return !error;
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> time) {
        return try_lock_shared_until(deadlineAfter(saturated(time)));
    }
    void unlock_shared() noexcept { release(1); }

    // Turns the caller's exclusive lock into a shared one. No writer gets the lock in between; readers that wait at the
    // head of the queue get it.
    void downgrade() noexcept { release(all - 1); }
    [[nodiscard]] static std::shared_lock<RwLock> downgrade(std::unique_lock<RwLock> guard) noexcept {
        RwLock& lock = *guard.release();
        lock.downgrade();
        return {lock, std::adopt_lock};
    }

    // These may be outdated when they return. Any thread.
    bool isWriteLocked() const noexcept { return core_.permits() == 0; }
    std::uint32_t readers() const noexcept {
        const std::uint32_t free = core_.permits();
        return free == 0 ? 0 : all - free;
    }
    std::size_t waiters() const noexcept { return core_.waiters(); }

  private:
    using Core = detail::BasicSemaphore<detail::NativeSync>;
    // A reader has one permit, a writer has all.
    static constexpr std::uint32_t all = Core::most;

    void lockSlow(std::uint32_t permits);
    ErrorCode acquire(std::uint32_t permits, Deadline deadline);
    bool acquireUntil(std::uint32_t permits, Deadline deadline);
    // An unlock without a lock fails an assertion.
    void release(std::uint32_t permits) noexcept {
        if (!core_.release(permits)) [[unlikely]]
            notLocked();
    }
    [[noreturn]] static void notLocked() noexcept;

    Core core_;
};

}  // namespace weft::sync
