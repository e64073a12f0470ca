// How much work one channel may do before others have their turn; the same on all transports.
#pragma once

#include <cstddef>

namespace weft::detail {

constexpr unsigned readsPerCycle = 16;          // fairness of reads
constexpr unsigned writesPerFlush = 16;         // fairness of writes (W-5)
constexpr std::size_t bytesPerWrite = 1 << 20;  // gathering more than that would only pin more memory
constexpr std::size_t bytesPerEntry = 1 << 30;  // of one piece; an entry of io_uring has 31 bits for its length
constexpr unsigned eventsPerClockRead = 8;      // one clock read costs about a tenth of a read call

}  // namespace weft::detail
