// Counts the bytes that Buffers copy, so that a test can show that a path copies nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

#ifdef NDEBUG
inline constexpr bool copiesAreCounted = false;
#else
inline constexpr bool copiesAreCounted = true;
#endif
inline constinit thread_local std::uint64_t copied = 0;

inline void countCopied(std::size_t bytes) noexcept {
    if constexpr (copiesAreCounted) copied += bytes;
}
// Bytes copied by the calling thread so far: by Buffer::copyOf() and append(), and when a Buffer makes room. Counted in
// debug builds only. Context: the fiber must not suspend between two calls whose results are compared.
inline std::uint64_t copiedBytes() noexcept {
    return copied;
}

}  // namespace weft::detail
