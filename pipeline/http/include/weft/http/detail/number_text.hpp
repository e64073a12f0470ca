// Writes decimal and hexadecimal numbers as text, without allocation: lengths, chunk sizes, status codes. Free
// functions for the encoders.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>

namespace weft::http::detail {

inline constexpr std::size_t maxDecimalBytes = 20;
inline constexpr std::size_t maxHexBytes = 16;

// Writes `number` to `out`, which has room for maxDecimalBytes, and returns the number of bytes written.
inline std::size_t writeDecimal(std::uint64_t number, char* out) noexcept {
    return static_cast<std::size_t>(std::to_chars(out, out + maxDecimalBytes, number).ptr - out);
}

// As writeDecimal(), in lower-case hexadecimal; needs room for maxHexBytes.
inline std::size_t writeHex(std::uint64_t number, char* out) noexcept {
    return static_cast<std::size_t>(std::to_chars(out, out + maxHexBytes, number, 16).ptr - out);
}

}  // namespace weft::http::detail
