// Logging for applications: spdlog as the target of the scheduler's log hook.
#pragma once

#include <weft/scheduler/log.hpp>

namespace weft {

// Sends log lines of `level` and above to stderr, with time and level, in colour on a terminal. The thread that logs
// also writes; there is no logging thread. Call it again to change the level. Context: any thread. Allocates.
void initializeLogging(LogLevel level = LogLevel::info);

}  // namespace weft
