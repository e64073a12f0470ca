#include <weft/scheduler/sync/rw_lock.hpp>

#include <weft/scheduler/assert.hpp>

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
    return core_.tryAcquire(permits) ? ErrorCode() : core_.acquireSlow(permits, deadline, callFor(permits));
}

bool RwLock::acquireUntil(std::uint32_t permits, Deadline deadline) {
    return detail::falseOnTimeout(acquire(permits, deadline), callFor(permits));
}

void RwLock::notLocked() noexcept {
    WEFT_ASSERT(false, "sync::RwLock: unlocked although it was not locked");
    __builtin_unreachable();
}

}  // namespace weft::sync
