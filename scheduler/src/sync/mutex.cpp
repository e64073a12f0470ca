#include <weft/scheduler/sync/mutex.hpp>

#include <weft/scheduler/assert.hpp>

#include "caller_id.hpp"
#include "lock_waits.hpp"

namespace weft::detail {

namespace {
constexpr Duration fairAfter = std::chrono::milliseconds(1);
}

bool EventualFairness::handsOver(Stamp since) noexcept {
    return Clock::steady().now() - since >= fairAfter;
}

template <class Fairness>
void FiberMutex<Fairness>::lockSlow() {
    constexpr const char* call = Fairness::calls.lock;
    throwOnError(lockSlowUntil(never, call), call);
}

template <class Fairness>
void FiberMutex<Fairness>::lockSlowUninterruptibly() {
    assertNotOwner();
    const LockWait noted(owner_);
    core_.lockSlowUninterruptibly(Fairness::calls.lockUninterruptibly);
}

template <class Fairness>
ErrorCode FiberMutex<Fairness>::lockSlowUntil(Deadline deadline, const char* call) {
    assertNotOwner();
    const LockWait noted(owner_);
    return core_.lockSlow(deadline, call);
}

template <class Fairness>
bool FiberMutex<Fairness>::try_lock_until(Deadline deadline) {
    ErrorCode error;
    static_cast<void>(try_lock_until(deadline, error));
    return falseOnTimeout(error, Fairness::calls.tryLockUntil);
}

template <class Fairness>
void FiberMutex<Fairness>::noteOwner() noexcept {
    owner_.store(callerId(), std::memory_order_relaxed);
}

// Where nothing may block, the wait throws.
template <class Fairness>
void FiberMutex<Fairness>::assertNotOwner() const {
    WEFT_ASSERT(!Suspension::allowed() || owner_.load(std::memory_order_relaxed) != callerId(),
                "deadlock: a fiber or thread locks a mutex that it has locked already");
}

template class FiberMutex<EventualFairness>;
template class FiberMutex<FifoFairness>;

}  // namespace weft::detail
