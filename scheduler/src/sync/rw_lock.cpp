#include <weft/scheduler/sync/rw_lock.hpp>

#include <weft/scheduler/assert.hpp>

#include "caller_id.hpp"
#include "lock_waits.hpp"

namespace weft::sync {

namespace {

constexpr const char* callFor(std::uint32_t permits) noexcept {
    return permits == 1 ? "sync::RwLock::lock_shared" : "sync::RwLock::lock";
}

}  // namespace

void RwLock::lockSlow(std::uint32_t permits) {
    detail::throwOnError(acquire(permits, never), callFor(permits));
}

ErrorCode RwLock::acquire(std::uint32_t permits, Deadline deadline) {
    if (core_.tryAcquire(permits)) return {};
    const detail::LockWait noted(writer_);
    return core_.acquireSlow(permits, deadline, callFor(permits));
}

bool RwLock::acquireUntil(std::uint32_t permits, Deadline deadline) {
    return detail::falseOnTimeout(acquire(permits, deadline), callFor(permits));
}

void RwLock::noteWriter() noexcept {
    writer_.store(detail::callerId(), std::memory_order_relaxed);
}

void RwLock::notLocked() noexcept {
    WEFT_ASSERT(false, "sync::RwLock: unlocked although it was not locked");
    __builtin_unreachable();
}

}  // namespace weft::sync
