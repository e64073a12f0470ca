// BufferPool: allocates and recycles the blocks of Buffers; one per thread, hence one per carrier.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <weft/pipeline/detail/buffer_block.hpp>

namespace weft {

// Free lists of a few block sizes. A block that another thread releases returns through a lock-free stack; a block that
// outlives its pool is deleted when it is released. Context: its own thread, except liveBlocks().
// Never blocks; calls malloc when a list is empty; take() throws std::bad_alloc.
class BufferPool {
  public:
    static constexpr std::array<std::size_t, 5> classes{256, 2048, 4096, 16 * 1024, 64 * 1024};  // capacities in bytes
    static constexpr std::uint32_t noClass = classes.size();
    static constexpr std::size_t maxIdleBytesPerClass = 4 << 20;  // beyond this, released blocks go to the heap

    BufferPool();
    ~BufferPool();
    BufferPool(const BufferPool&) = delete;
    BufferPool& operator=(const BufferPool&) = delete;

    // A block with one owner and at least `minCapacity` bytes; beyond the largest class it has exactly that size.
    detail::BufferBlock* take(std::size_t minCapacity);

    // Written by this pool's thread only; exact while that thread neither allocates nor releases.
    std::uint64_t allocated() const noexcept { return allocated_.load(std::memory_order_relaxed); }  // a statistic
    std::uint64_t released() const noexcept { return released_.load(std::memory_order_relaxed); }    // a statistic
    std::size_t idleBlocks() const noexcept;

    // The calling thread's pool, created on first use; null once the thread has destroyed it at its end. Do not keep
    // the pointer across a park.
    static BufferPool* current();
    // Blocks that have an owner now, over all threads; exact while no thread allocates or releases. Context: any
    // thread. Takes a lock.
    static std::int64_t liveBlocks() noexcept;

  private:
    friend struct detail::BufferBlock;

    struct FreeList {
        detail::BufferBlock* first = nullptr;
        std::ptrdiff_t room = 0;  // how many more blocks it may take
    };

    [[gnu::always_inline]] detail::BufferBlock* takeIdle(std::size_t minCapacity);
    detail::BufferBlock* takeNew(std::size_t minCapacity);
    void putBack(detail::BufferBlock* block) noexcept;  // a block of this pool, on its own thread
    void deleteSurplus(detail::BufferBlock* block) noexcept;
    void deletePooled(detail::BufferBlock* block) noexcept;
    void collectReturned() noexcept;
    void countAllocation() noexcept;
    void countRelease() noexcept;
    static detail::BufferBlock* takeFirst(std::size_t minCapacity);
    static void giveAway(BufferPool* pool, detail::BufferBlock* block) noexcept;

    std::array<FreeList, classes.size() + 1> free_;  // the last one, for noClass, stays empty
    detail::BufferHome* home_;
    std::int64_t pooled_ = 0;  // existing blocks of the size classes: in free_, in use, or on their way back
    std::atomic<std::uint64_t> allocated_{0};
    std::atomic<std::uint64_t> released_{0};
    BufferPool* previousPool_ = nullptr;  // in the registry; guarded by its lock
    BufferPool* nextPool_ = nullptr;
};

}  // namespace weft
