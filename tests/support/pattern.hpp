// pattern(): bytes that reveal a shift or a gap.
#pragma once

#include <cstddef>
#include <string>

namespace weft::test {

inline std::string pattern(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
    return bytes;
}

}  // namespace weft::test
