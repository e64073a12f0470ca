// Ids as applications give them to requests and answers: 16 hexadecimal digits, which differ in all places. The id of a
// number is always the same, so runs repeat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::perf {

inline constexpr std::size_t idSize = 16;

inline void writeId(char* to, std::uint64_t number) {
    std::uint64_t mixed = number * 0x9e3779b97f4a7c15;  // splitmix64
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    for (std::size_t i = idSize; i-- > 0; mixed >>= 4) to[i] = "0123456789abcdef"[mixed & 15];
}

inline std::string idOf(std::uint64_t number) {
    std::string id(idSize, '0');
    writeId(id.data(), number);
    return id;
}

}  // namespace weft::perf
