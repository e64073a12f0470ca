// Outstanding: process-wide counts of resources that have not been released. Tests check that each count is unchanged
// at their end.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::detail {

// relaxed: statistics. Exact while no carrier runs.
struct Outstanding {
    std::atomic<std::int64_t> stacks{0};  // taken from a pool, including those that carriers cache
    std::atomic<std::int64_t> fibers{0};  // spawned and not ended, in groups that have been destroyed
    std::atomic<std::int64_t> timers{0};  // still armed when their wheel was destroyed
};

inline constinit Outstanding outstanding;

}  // namespace weft::detail
