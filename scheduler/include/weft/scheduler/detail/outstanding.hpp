// Outstanding: what the scheduler has handed out and not got back, over the whole process. Tests demand that each count
// ends as it began.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::detail {

// Statistics: relaxed. Exact while no carrier is at work.
struct Outstanding {
    std::atomic<std::int64_t> stacks{0};  // taken from a pool, or cached by a carrier; a fiber's frame is on its stack
    std::atomic<std::int64_t> fibers{0};  // begun and not ended, in groups that are gone
    std::atomic<std::int64_t> timers{0};  // armed on wheels that are gone
};

inline constinit Outstanding outstanding;

}  // namespace weft::detail
