// Logging for applications: spdlog as the target of the scheduler's log hook.
#pragma once

#include <weft/scheduler/log.hpp>

namespace weft {

// Sends log lines of `level` and above to stderr, with time and level, in colour on a terminal. The thread that logs
// also writes. If the reader of stderr stalls, it does not wait: up to 1 MiB of lines waits, which a thread writes that
// ends with them; further lines are dropped, and the next one that has room tells their number. exit() waits at most 1
// s for the reader. Call it again to change the level. Context: any thread. Allocates.
void initializeLogging(LogLevel level = LogLevel::info);

}  // namespace weft
