// LockWait: notes, in debug builds, for which lock a fiber or thread waits, so that the fiber dump names the holder.
// Release builds (NDEBUG) contain none of it. Private to the scheduler.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::detail {

// Lives on the waiter's stack during the wait, and shorter than the lock. `owner`: the lock's member with the
// callerId() of its holder, or 0 if the lock does not know it. Never allocates; takes a mutex.
class LockWait {
  public:
#ifdef NDEBUG
    explicit LockWait(const std::atomic<std::uint64_t>&) noexcept {}
    ~LockWait() {}
#else
    explicit LockWait(const std::atomic<std::uint64_t>& owner) noexcept;
    ~LockWait();
#endif
    LockWait(const LockWait&) = delete;
    LockWait& operator=(const LockWait&) = delete;

    // {waiter, holder} of each wait at this moment, as callerId() values. Empty in release builds. Any thread.
    // Allocates.
    static std::vector<std::pair<std::uint64_t, std::uint64_t>> all();

#ifndef NDEBUG
  private:
    const std::atomic<std::uint64_t>& owner_;
    const std::uint64_t waiter_;
    LockWait* previous_ = nullptr;
    LockWait* next_ = nullptr;
#endif
};

}  // namespace weft::detail
