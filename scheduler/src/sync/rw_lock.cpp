#include <weft/scheduler/sync/rw_lock.hpp>

#include <weft/scheduler/assert.hpp>

#include "caller_id.hpp"
#include "lock_waits.hpp"

namespace weft::sync {

void RwLock::lockSlow(std::uint32_t permits) {
    const char* const call = permits == 1 ? "sync::RwLock::lock_shared" : "sync::RwLock::lock";
    detail::throwOnError(acquire(permits, never, call), call);
}

void RwLock::lockSlowUninterruptibly(std::uint32_t permits) {
    assertNotWriter();
    const detail::LockWait noted(writer_);
    static_cast<void>(core_.acquireSlowUninterruptibly(
        permits, permits == 1 ? "sync::RwLock::lockSharedUninterruptibly" : "sync::RwLock::lockUninterruptibly"));
}

ErrorCode RwLock::acquire(std::uint32_t permits, Deadline deadline, const char* call) {
    if (core_.tryAcquire(permits)) return {};
    assertNotWriter();
    const detail::LockWait noted(writer_);
    return core_.acquireSlow(permits, deadline, call);
}

bool RwLock::acquireUntil(std::uint32_t permits, Deadline deadline, const char* call) {
    return detail::falseOnTimeout(acquire(permits, deadline, call), call);
}

void RwLock::noteWriter() noexcept {
    writer_.store(detail::callerId(), std::memory_order_relaxed);
}

// Where nothing may block, the wait throws.
void RwLock::assertNotWriter() const {
    WEFT_ASSERT(!Suspension::allowed() || writer_.load(std::memory_order_relaxed) != detail::callerId(),
                "deadlock: a fiber or thread locks a sync::RwLock whose writer it is already");
}

void RwLock::assertNoWriter() const noexcept {
    WEFT_ASSERT(
        writer_.load(std::memory_order_relaxed) == 0,
        "sync::RwLock::unlock_shared: the lock is held by a writer; its holder must call unlock() or downgrade()");
}

void RwLock::assertOwns([[maybe_unused]] bool owns) noexcept {
    WEFT_ASSERT(owns, "sync::RwLock::downgrade: the guard does not own a lock");
}

void RwLock::notLocked() noexcept {
    WEFT_ASSERT(false, "sync::RwLock: unlocked although it was not locked");
    __builtin_unreachable();
}

}  // namespace weft::sync
