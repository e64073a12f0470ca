// How many bytes Buffers have copied: what a test asks to show that a path copies nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

#ifdef NDEBUG
inline constexpr bool copiesAreCounted = false;
inline void countCopied(std::size_t) noexcept {}
inline std::uint64_t copiedBytes() noexcept {
    return 0;
}
#else
inline constexpr bool copiesAreCounted = true;
inline thread_local std::uint64_t copied = 0;
inline void countCopied(std::size_t bytes) noexcept {
    copied += bytes;
}
// By the calling thread so far: Buffer::copyOf() and append(), and what a Buffer moves to make room. Counted in debug
// builds. Context: no suspension between two looks that are compared.
inline std::uint64_t copiedBytes() noexcept {
    return copied;
}
#endif

}  // namespace weft::detail
