#include "lock_waits.hpp"

#include <mutex>

#include "caller_id.hpp"

namespace weft::detail {

#ifdef NDEBUG

std::vector<std::pair<std::uint64_t, std::uint64_t>> LockWait::all() {
    return {};
}

#else

namespace {
constinit std::mutex lockWaitsLock;  // guards the list and keeps the mutexes in it alive while they are read
constinit LockWait* firstLockWait = nullptr;
}  // namespace

LockWait::LockWait(const std::atomic<std::uint64_t>& owner) noexcept : owner_(owner), waiter_(callerId()) {
    const std::lock_guard held(lockWaitsLock);
    next_ = firstLockWait;
    if (next_ != nullptr) next_->previous_ = this;
    firstLockWait = this;
}

LockWait::~LockWait() {
    const std::lock_guard held(lockWaitsLock);
    (previous_ != nullptr ? previous_->next_ : firstLockWait) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> LockWait::all() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> waits;
    const std::lock_guard held(lockWaitsLock);
    for (const LockWait* wait = firstLockWait; wait != nullptr; wait = wait->next_) {
        waits.emplace_back(wait->waiter_, wait->owner_.load(std::memory_order_relaxed));  // may be outdated
    }
    return waits;
}

#endif

}  // namespace weft::detail
