// Reads and writes unsigned numbers of 1 to 8 bytes in either byte order.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::detail {

inline std::uint64_t readUnsigned(const char* from, unsigned bytes, std::endian order) noexcept {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) {
        const char byte = from[order == std::endian::big ? i : bytes - 1 - i];
        value = value << 8 | static_cast<unsigned char>(byte);
    }
    return value;
}

inline void writeUnsigned(char* to, unsigned bytes, std::endian order, std::uint64_t value) noexcept {
    for (unsigned i = 0; i < bytes; ++i, value >>= 8) {
        to[order == std::endian::big ? bytes - 1 - i : i] = static_cast<char>(value & 0xff);
    }
}

// The largest value of a field of `bytes` bytes.
inline std::uint64_t largestUnsigned(unsigned bytes) noexcept {
    return bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1;
}

inline bool isFieldLength(unsigned bytes) noexcept {
    return (bytes >= 1 && bytes <= 4) || bytes == 8;
}

}  // namespace weft::detail
