#include <weft/scheduler/sync/semaphore.hpp>

#include <weft/scheduler/assert.hpp>

namespace weft::detail {

template class BasicSemaphore<NativeSync>;

}  // namespace weft::detail

namespace weft::sync {

Semaphore::Semaphore(std::uint32_t permits) : core_(permits) {
    WEFT_ASSERT(permits <= mostPermits, "sync::Semaphore: more than mostPermits");
}

void Semaphore::acquireSlow(std::uint32_t count) {
    constexpr const char* call = "sync::Semaphore::acquire";
    detail::throwOnError(acquireOr(count, never, call), call);
}

bool Semaphore::acquireUntil(Deadline deadline, std::uint32_t count) {
    constexpr const char* call = "sync::Semaphore::acquireUntil";
    return detail::falseOnTimeout(acquireOr(count, deadline, call), call);
}

ErrorCode Semaphore::acquireOr(std::uint32_t count, Deadline deadline, const char* call) {
    WEFT_ASSERT(count <= mostPermits, "sync::Semaphore: a request for more than mostPermits is never satisfied");
    return core_.tryAcquire(count) ? ErrorCode() : core_.acquireSlow(count, deadline, call);
}

void Semaphore::tooMany() noexcept {
    WEFT_ASSERT(false, "sync::Semaphore::release: the semaphore would have more than mostPermits");
    __builtin_unreachable();
}

}  // namespace weft::sync
