// sync::RwLock: one writer or many readers.
#pragma once

#include <atomic>
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
// again, shared or not, may wait forever; if a writer locks again, an assertion fails. In a library built without
// NDEBUG the fiber dump names the writer for which a fiber waits; the lock counts its readers without knowing them, so
// for a wait for readers the dump names no holder. Context, errors, cancellation and lifetime of every call: as the
// call of sync::Mutex with the same name.
class RwLock {
  public:
    RwLock() noexcept : core_(all) {}
    ~RwLock() = default;
    RwLock(const RwLock&) = delete;
    RwLock& operator=(const RwLock&) = delete;

    void lock() {
        if (!core_.tryAcquire(all)) [[unlikely]]
            lockSlow(all);
        noteWriter();
    }
    void lock(ErrorCode& error) {
        error = acquire(all, never, "sync::RwLock::lock");
        if (!error) noteWriter();
    }
    void lockUninterruptibly() {
        if (!core_.tryAcquire(all)) [[unlikely]]
            lockSlowUninterruptibly(all);
        noteWriter();
    }
    [[nodiscard]] bool try_lock() noexcept {
        if (!core_.tryAcquire(all)) return false;
        noteWriter();
        return true;
    }
    [[nodiscard]] bool try_lock_until(Deadline deadline) {
        if (!acquireUntil(all, deadline, "sync::RwLock::try_lock_until")) return false;
        noteWriter();
        return true;
    }
    [[nodiscard]] bool try_lock_until(Deadline deadline, ErrorCode& error) {
        error = acquire(all, deadline, "sync::RwLock::try_lock_until");
        if (!error) noteWriter();
        return !error;
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> time) {
        return try_lock_until(deadlineAfter(saturated(time)));
    }
    void unlock() noexcept {
        forgetWriter();
        release(all);
    }

    void lock_shared() {
        if (!core_.tryAcquire(1)) [[unlikely]]
            lockSlow(1);
    }
    void lock_shared(ErrorCode& error) { error = acquire(1, never, "sync::RwLock::lock_shared"); }
    void lockSharedUninterruptibly() {
        if (!core_.tryAcquire(1)) [[unlikely]]
            lockSlowUninterruptibly(1);
    }
    [[nodiscard]] bool try_lock_shared() noexcept { return core_.tryAcquire(1); }
    [[nodiscard]] bool try_lock_shared_until(Deadline deadline) {
        return acquireUntil(1, deadline, "sync::RwLock::try_lock_shared_until");
    }
    [[nodiscard]] bool try_lock_shared_until(Deadline deadline, ErrorCode& error) {
        error = acquire(1, deadline, "sync::RwLock::try_lock_shared_until");
        return !error;
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> time) {
        return try_lock_shared_until(deadlineAfter(saturated(time)));
    }
    void unlock_shared() noexcept {
        assertNoWriter();
        release(1);
    }

    // Turns the caller's exclusive lock into a shared one. No writer gets the lock in between; readers that wait at the
    // head of the queue get it. The guard must own the lock; else an assertion fails.
    void downgrade() noexcept {
        forgetWriter();
        release(all - 1);
    }
    [[nodiscard]] static std::shared_lock<RwLock> downgrade(std::unique_lock<RwLock> guard) noexcept {
        assertOwns(guard.owns_lock());
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
    void lockSlowUninterruptibly(std::uint32_t permits);
    ErrorCode acquire(std::uint32_t permits, Deadline deadline, const char* call);
    bool acquireUntil(std::uint32_t permits, Deadline deadline, const char* call);
    void assertNotWriter() const;
    void assertNoWriter() const noexcept;
    static void assertOwns(bool owns) noexcept;
    // An unlock without a lock fails an assertion.
    void release(std::uint32_t permits) noexcept {
        if (!core_.release(permits)) [[unlikely]]
            notLocked();
    }
    [[noreturn]] static void notLocked() noexcept;
    void noteWriter() noexcept;
    void forgetWriter() noexcept { writer_.store(0, std::memory_order_relaxed); }

    Core core_;
    std::atomic<std::uint64_t> writer_{
        0};  // callerId() of the writer, 0 without one; relaxed: for assertions and the fiber dump
};

}  // namespace weft::sync
