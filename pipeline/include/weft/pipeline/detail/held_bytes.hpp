// When a copy of a Buffer's bytes is cheaper to keep than the Buffer: a few bytes of a large block. Places that queue
// Buffers copy such pieces, so that what they hold is bounded by what they count.
#pragma once

#include <cstddef>
#include <new>

#include <weft/pipeline/buffer.hpp>

namespace weft::detail {

inline constexpr std::size_t freelyHeldBytes = 4 * 1024;  // blocks up to this size may be kept for any of their bytes
inline constexpr std::size_t mostCopiedBytes = 4 * 1024;  // more readable bytes are not copied to free their block
inline constexpr std::size_t mostHeldPerByte = 4;         // up to this ratio of block to bytes there is nothing to gain

// True when the block is large, the readable bytes are few, and copying them is cheap.
inline bool isSparse(const Buffer& buffer) noexcept {
    const std::size_t bytes = buffer.readableBytes();
    return buffer.heldBytes() > freelyHeldBytes && bytes <= mostCopiedBytes &&
           bytes * mostHeldPerByte < buffer.heldBytes();
}

// Replaces a sparse buffer by a copy of its bytes. Without memory for the copy, the buffer stays as it is.
inline void compact(Buffer& buffer) noexcept {
    if (!isSparse(buffer)) return;
    try {
        buffer = buffer.empty() ? Buffer() : Buffer::copyOf(buffer.view());
    } catch (const std::bad_alloc&) {
    }
}

// The same for a buffer that is queued after `last`: pieces of one block in a row hold it once, so they stay.
inline void compactAfter(const Buffer& last, Buffer& buffer) noexcept {
    if (storageOf(last) != storageOf(buffer)) compact(buffer);
}

}  // namespace weft::detail
