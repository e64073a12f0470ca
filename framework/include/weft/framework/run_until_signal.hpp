// How a server program ends: on SIGINT, SIGTERM or SIGHUP it drains, then exits with status 0, or 1 when something does
// not return.
#pragma once

#include <weft/framework/event_loop_group.hpp>

namespace weft {

// While an object of this class exists, SIGINT, SIGTERM and SIGHUP make wait() return instead of ending the process.
// Make one before the program announces that it is ready, so that an early signal is not lost; runUntilSignal() makes
// its own. A signal that the process already ignores when the first object is made stays ignored (a shell starts
// background jobs with SIGINT ignored, `nohup` a program with SIGHUP ignored); when SIGINT and SIGTERM both are, a
// warning is logged. SIGHUP is taken only if it then has its default effect, and is the program's again once another
// handler has been installed for it.
//
// It installs a process-wide signal handler that writes to an eventfd. The handler runs on one of the program's own
// threads, because carriers block these signals. If every thread blocks them, they stay pending until wait() is called.
class ShutdownSignals {
  public:
    static constexpr Duration repeatTime = std::chrono::milliseconds(500);

    // May nest. Throws SystemError when no descriptor is left. Context: any thread.
    ShutdownSignals();
    // The last object restores the former signal handlers.
    ~ShutdownSignals();
    ShutdownSignals(const ShutdownSignals&) = delete;
    ShutdownSignals& operator=(const ShutdownSignals&) = delete;

    // Blocks the calling thread until one of the signals has arrived since the first of the objects now alive was made;
    // earlier signals do not count. Returns the signal's number. Signals that follow within `repeatTime` repeat the
    // first and are ignored. Later ones have their former effect: a second Ctrl-C ends a process that is slow to drain.
    // So keep the object until the drain is over. Context: a plain thread (throws BlockingOperationException on a
    // carrier).
    int wait();
};

// Waits for SIGINT, SIGTERM or SIGHUP (see ShutdownSignals), drains the group's servers, shuts the group down, and
// returns exit status 0. A signal that comes ShutdownSignals::repeatTime after the first or later ends the process at
// once, as it would without this call. When a handler or fiber has not returned within
// `shutdownTime` after the drain, the log names it and the process exits with status runFailed without running
// destructors, because nothing that it uses may be destroyed. Context: a plain thread, usually main(). Blocks.
inline constexpr int runFailed = 1;
int runUntilSignal(EventLoopGroup& group, Duration drainTime = EventLoopGroup::defaultDrainTime,
                   Duration shutdownTime = EventLoopGroup::defaultDrainTime);

}  // namespace weft
