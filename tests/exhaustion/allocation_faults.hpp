// Makes the n-th allocation fail: this program's operator new throws on request. It also counts allocations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::exhaustion {

// During its lifetime, the allocation with this number (1: the next one), counted over all threads, throws
// std::bad_alloc; later ones succeed.
class FailingAllocation {
  public:
    explicit FailingAllocation(std::uint64_t number) noexcept;
    ~FailingAllocation();
    FailingAllocation(const FailingAllocation&) = delete;
    FailingAllocation& operator=(const FailingAllocation&) = delete;

    // Whether there were that many allocations.
    bool hasFailed() const noexcept;
};

// The number of allocations of all threads since its construction.
class CountedAllocations {
  public:
    CountedAllocations() noexcept;
    std::uint64_t soFar() const noexcept;

  private:
    const std::uint64_t before_;
};

// Blocks that operator new has returned and operator delete has not freed.
std::size_t liveAllocations() noexcept;

}  // namespace weft::exhaustion
