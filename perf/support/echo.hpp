// What the echo servers share: how much they read at a time, so that all make the same pieces.
#pragma once

#include <cstddef>

namespace weft::perf {

inline constexpr std::size_t kEchoPiece =
    64 * 1024;  // bytes; what libuv suggests, and the most that Weft reads at once

}  // namespace weft::perf
