// UringCounters: what the ring of one carrier has done.
#pragma once

#include <cstdint>

namespace weft {

// Since open().
struct UringCounters {
    std::uint64_t enters = 0;         // system calls that submitted entries, waited, or fetched completions
    std::uint64_t entries = 0;        // that were put into the ring, for the next of these calls
    std::uint64_t completions = 0;    // that were dispatched
    std::uint64_t buffersRanOut = 0;  // receives that found no buffer and were started again
    std::uint64_t bufferBytes = 0;    // not since open(), but now: what the kernel has to receive into
};

}  // namespace weft
