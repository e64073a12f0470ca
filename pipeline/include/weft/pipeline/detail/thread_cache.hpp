// ThreadCache: per-thread free lists of small blocks, which promises, large messages and posted operations use.
#pragma once

#include <cstddef>
#include <new>

namespace weft::detail {

// Context: any thread; a block may be released on another thread. Blocks are aligned to 16 bytes.
// Requests above 1024 bytes go straight to the heap. Never blocks; allocate() throws std::bad_alloc.
struct ThreadCache {
    static void* allocate(std::size_t size) { return fits(size) ? take(size) : ::operator new(size); }
    static void release(void* block, std::size_t size) noexcept {
        fits(size) ? put(block, size) : ::operator delete(block);
    }

  private:
    static constexpr std::size_t largest = 1024;
    static constexpr bool fits(std::size_t size) noexcept { return size - 1 < largest; }  // false for a size of 0

    static void* take(std::size_t size);
    static void put(void* block, std::size_t size) noexcept;
    static void putWithoutRoom(void* block, std::size_t size) noexcept;
};

// The base of final classes whose objects `new` places in such blocks, aligned to 16 bytes at most.
struct InThreadCache {
    static void* operator new(std::size_t size) { return ThreadCache::allocate(size); }
    static void operator delete(void* block, std::size_t size) noexcept { ThreadCache::release(block, size); }
};

}  // namespace weft::detail
