// UringCounters: activity of one carrier's ring.
#pragma once

#include <cstdint>

namespace weft {

// Counted since open(), except for bufferBytes.
struct UringCounters {
    std::uint64_t enters = 0;         // system calls that submitted entries, waited, or fetched completions
    std::uint64_t entries = 0;        // entries put into the ring for those calls
    std::uint64_t completions = 0;    // completions dispatched
    std::uint64_t buffersRanOut = 0;  // receives that found no buffer and were started again
    std::uint64_t bufferBytes = 0;    // current size of the memory that the kernel may receive into
};

}  // namespace weft
