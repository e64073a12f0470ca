// ReferenceCount: an atomic reference count. docs/explanation/protocol.md section 10.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// Starts at one, the creator's reference.
template <class P>
class BasicReferenceCount {
  public:
    // relaxed: the caller holds a reference, so the object stays alive.
    void retain() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
    // True if this was the last reference: the caller must free the object. A sole holder needs no RMW. [C5]
    [[nodiscard]] bool release() noexcept {
        return count_.load(std::memory_order_acquire) == 1 ||        // [C5]
               count_.fetch_sub(1, std::memory_order_acq_rel) == 1;  // [C5] all uses before the free
    }

  private:
    typename P::template Atomic<std::uint32_t> count_{1};
};

}  // namespace weft::detail
