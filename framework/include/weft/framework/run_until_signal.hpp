// How a server program ends: SIGINT or SIGTERM, then a drain, then exit status 0, or 1 when something does not return.
#pragma once

#include <weft/framework/event_loop_group.hpp>

namespace weft {

// While one is alive, SIGINT and SIGTERM do not end the process but the wait() of main(). Make one before the program
// announces that it is ready, so that an early signal is kept; runUntilSignal() makes one of its own. A signal that the
// process ignores when the first object is made stays ignored (a shell starts background jobs with SIGINT ignored);
// when it ignores both, a warning is logged.
//
// It is a handler for the whole process that adds to an eventfd. It runs on one of the program's own threads: carriers
// block both signals, unless none else is left to take them (then they wait until wait() is called).
class ShutdownSignals {
  public:
    // Nests. Throws SystemError when there is no descriptor left. Context: any thread.
    ShutdownSignals();
    // Gives the signals back to who had them before.
    ~ShutdownSignals();
    ShutdownSignals(const ShutdownSignals&) = delete;
    ShutdownSignals& operator=(const ShutdownSignals&) = delete;

    // Blocks the calling thread until one of the signals has come since the first living object was made; what came for
    // objects that are gone does not count. Returns its number. From then on a signal has its former effect: a second
    // Ctrl-C ends a process that is slow to drain. Context: a plain thread (throws BlockingOperationException on a
    // carrier).
    int wait();
};

// Waits for SIGINT or SIGTERM, drains the group's servers, shuts the group down, and returns the exit status 0. A
// second signal ends the process at once, as it would have without this call. A handler or fiber that has not returned
// `shutdownTime` after the drain is named in the log, and the process ends with the status runFailed: nothing that it
// uses may be destroyed, so no destructor runs. Context: a plain thread, usually main(). Blocks.
inline constexpr int runFailed = 1;
int runUntilSignal(EventLoopGroup& group, Duration drainTime = EventLoopGroup::defaultDrainTime,
                   Duration shutdownTime = EventLoopGroup::defaultDrainTime);

}  // namespace weft
