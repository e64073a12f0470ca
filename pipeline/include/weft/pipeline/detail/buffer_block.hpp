// BufferBlock: the reference-counted header before the bytes of a Buffer. A BufferPool allocates and recycles it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

class BufferHome;

struct alignas(16) BufferBlock {
    // Writers: every owner. The last release orders all accesses of earlier owners before the reuse of the block. [C5]
    std::atomic<std::uint32_t> owners{1};
    std::uint32_t sizeClass = 0;  // index into BufferPool's classes; noClass: of exact size, never pooled
    std::size_t capacity = 0;     // bytes after the header
    BufferHome* home = nullptr;   // where another thread returns it; null: it is deleted
    BufferBlock* next = nullptr;  // while it is in a free list or a return stack

    char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
    const char* data() const noexcept { return reinterpret_cast<const char*>(this + 1); }

    // acquire: an owner that released its share has finished reading before we write. [C5]
    bool unique() const noexcept { return owners.load(std::memory_order_acquire) == 1; }
    // relaxed: the caller is an owner already.
    void retain() noexcept { owners.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (unique() || owners.fetch_sub(1, std::memory_order_acq_rel) == 1) recycle(this);  // [C5]
    }

    // From the calling thread's pool (buffer_pool.hpp), with one owner.
    static BufferBlock* take(std::size_t minCapacity);
    static void recycle(BufferBlock* block) noexcept;
};

}  // namespace weft::detail
