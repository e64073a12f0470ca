// Ids as applications give them to requests and answers: 16 hexadecimal digits, which differ in all places. The id of a
// number is always the same, so runs repeat. Making one takes few instructions, so that the rows that count an answer
// with an id count the server.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace weft::perf {

inline constexpr std::size_t idSize = 16;

// The eight hexadecimal digits of a number, as bytes that are in memory in the order of writing.
inline std::uint64_t hexDigits(std::uint32_t number) {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t nibbles = __builtin_bswap32(number);
    nibbles = (nibbles | nibbles << 16) & 0x0000ffff0000ffff;
    nibbles = (nibbles | nibbles << 8) & 0x00ff00ff00ff00ff;
    nibbles = (nibbles >> 4 | nibbles << 8) & 0x0f0f0f0f0f0f0f0f;  // the high half of a byte is written first
    const std::uint64_t letters = (nibbles + 0x0606060606060606) >> 4 & 0x0101010101010101;
    return nibbles + 0x3030303030303030 + letters * ('a' - '0' - 10);
}

inline void writeId(char* to, std::uint64_t number) {
    std::uint64_t mixed = number * 0x9e3779b97f4a7c15;  // splitmix64
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    const std::uint64_t digits[] = {hexDigits(static_cast<std::uint32_t>(mixed >> 32)),
                                    hexDigits(static_cast<std::uint32_t>(mixed))};
    std::memcpy(to, digits, idSize);
}

inline std::string idOf(std::uint64_t number) {
    std::string id(idSize, '0');
    writeId(id.data(), number);
    return id;
}

}  // namespace weft::perf
