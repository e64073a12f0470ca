// How much one channel does before others have their turn, the same on all transports.
#pragma once

#include <cstddef>

namespace weft::detail {

constexpr unsigned readsPerCycle = 16;
constexpr unsigned writesPerFlush = 16;         // W-5
constexpr std::size_t bytesPerWrite = 1 << 20;  // beyond it gathering more only pins more memory
constexpr unsigned eventsPerClockRead = 8;      // a clock read costs about as much as a tenth of a read call

}  // namespace weft::detail
