// The read size that the echo servers share, so that all make the same pieces.
#pragma once

#include <cstddef>

namespace weft::perf {

inline constexpr std::size_t echoPiece = 64 * 1024;  // bytes; libuv's suggestion, and Weft's largest read

}  // namespace weft::perf
