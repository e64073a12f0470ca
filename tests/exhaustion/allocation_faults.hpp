// The n-th allocation fails: this program's operator new throws when it is told to. And it counts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::exhaustion {

// While one lives, the allocation with this number (1: the next one), counted over all threads, throws std::bad_alloc;
// later ones succeed.
class FailingAllocation {
  public:
    explicit FailingAllocation(std::uint64_t number) noexcept;
    ~FailingAllocation();
    FailingAllocation(const FailingAllocation&) = delete;
    FailingAllocation& operator=(const FailingAllocation&) = delete;

    // Whether there were that many.
    bool hasFailed() const noexcept;
};

// The allocations of all threads since it was made.
class CountedAllocations {
  public:
    CountedAllocations() noexcept;
    std::uint64_t soFar() const noexcept;

  private:
    const std::uint64_t before_;
};

// Blocks that operator new has given and operator delete has not taken back.
std::size_t liveAllocations() noexcept;

}  // namespace weft::exhaustion
