// StripedLock: the lock of a waiter queue, shared by all objects whose addresses fall on the same stripe.
#pragma once

#include <cstddef>
#include <mutex>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// The stripes live for the whole process. So the thread that ends a wait may still hold the lock when the waiter has
// returned and has destroyed the object; and an object costs no mutex. Objects on the same stripe may delay each
// other's slow paths, nothing else: no code holds two stripes, and nothing suspends, allocates or calls user code while
// it holds one.
class StripedLock {
  public:
    // A lock for the object at `address`, which may end its life before the lock is released.
    explicit StripedLock(const void* address) noexcept : mutex_(stripeOf(address)) { mutex_.lock(); }
    ~StripedLock() { mutex_.unlock(); }
    StripedLock(const StripedLock&) = delete;
    StripedLock& operator=(const StripedLock&) = delete;

  private:
    static std::mutex& stripeOf(const void* address) noexcept;

    std::mutex& mutex_;
};

}  // namespace weft::detail
