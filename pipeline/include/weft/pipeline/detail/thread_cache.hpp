// ThreadCache: a small free list of fixed-size blocks per thread, under promises, large messages and posted operations.
#pragma once

#include <cstddef>

namespace weft::detail {

// Context: any thread; a block may be released on another thread than it came from. Blocks are aligned to 16 bytes.
// Requests above 1024 bytes go straight to the heap. Never blocks; allocate() throws std::bad_alloc.
struct ThreadCache {
    static void* allocate(std::size_t size);
    static void release(void* block, std::size_t size) noexcept;
};

}  // namespace weft::detail
