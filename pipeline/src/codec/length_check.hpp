// checkedLength(): the check of all lengths that an application gives to a decoder.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace weft::detail {

inline constexpr std::size_t largestFrame = (std::size_t{2} << 30) - 1;

// Returns `length` when it is 1 to 2 GiB - 1 bytes; throws std::invalid_argument otherwise.
inline std::size_t checkedLength(const char* who, const char* what, std::size_t length) {
    if (length >= 1 && length <= largestFrame) return length;
    throw std::invalid_argument(std::string(who) + ": " + what + " is " + std::to_string(length) +
                                " bytes; accepted: 1 to " + std::to_string(largestFrame));
}

}  // namespace weft::detail
