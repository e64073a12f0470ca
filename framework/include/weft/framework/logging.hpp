// Where log lines go in an application: spdlog, behind the scheduler's log hook.
#pragma once

#include <weft/scheduler/log.hpp>

namespace weft {

// Sends log lines of `level` and above to stderr, with time and level, coloured on a terminal. Written by the thread that
// logs: there is no logging thread. May be called again to change the level. Context: any thread. Allocates.
void initializeLogging(LogLevel level = LogLevel::info);

}  // namespace weft
