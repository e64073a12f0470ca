// Decides when to keep a copy of a Buffer's bytes instead of the Buffer: for a few bytes of a large block. Queues of
// Buffers copy such pieces, so that the bytes they count bound the memory they hold.
#pragma once

#include <cstddef>
#include <new>

#include <weft/pipeline/buffer.hpp>

namespace weft::detail {

inline constexpr std::size_t freelyHeldBytes = 4 * 1024;  // blocks of up to this size are kept, however few bytes
inline constexpr std::size_t mostCopiedBytes = 4 * 1024;  // more readable bytes are never copied to free their block
inline constexpr std::size_t mostHeldPerByte = 4;         // up to this ratio of block to bytes the block is kept

// True when the block is large, the readable bytes are few, and copying them is cheap.
inline bool isSparse(const Buffer& buffer) noexcept {
    const std::size_t bytes = buffer.readableBytes();
    return buffer.heldBytes() > freelyHeldBytes && bytes <= mostCopiedBytes &&
           bytes * mostHeldPerByte < buffer.heldBytes();
}

// Replaces a sparse buffer by a copy of its bytes. When there is no memory for the copy, the buffer stays as it is.
inline void compact(Buffer& buffer) noexcept {
    if (!isSparse(buffer)) return;
    try {
        buffer = buffer.empty() ? Buffer() : Buffer::copyOf(buffer.view());
    } catch (const std::bad_alloc&) {
    }
}

// As compact(), for a buffer that is queued after `last`: consecutive pieces of one block are not copied.
inline void compactAfter(const Buffer& last, Buffer& buffer) noexcept {
    if (storageOf(last) != storageOf(buffer)) compact(buffer);
}

}  // namespace weft::detail
