// IoHandler: the interface through which an event loop drives a transport (door 1, docs/adr/0003). The scheduler
// declares it and knows no sockets; transports implement it.
#pragma once

#include <cstddef>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/poll_guard.hpp>

namespace weft {

class Carrier;

// The limits of one poll() call, after which it must return so that fibers run.
struct Budget {
    Duration time;            // checked between events, so a single event may exceed it
    unsigned events = 256;    // maximum number of events, 1 or more
    std::size_t fibers = 32;  // returns once the events have made this many fibers runnable, 1 or more
};

struct PollResult {
    unsigned events = 0;  // I/O events handled, excluding wake-ups of the loop
    bool more = false;    // there is more to do now: poll again without blocking
};

// A transport's poller. Context: the carrier's thread for everything except wakeup().
// Throws: if open() throws, the loop does not start and close() is not called. If poll(), closeChannels() or
// prepareToClose() throws, the loop ends: it calls prepareToClose() unless it has done so, then close(), without
// another poll() and without waiting for closable(). In both cases the future of EventLoop::start() has the exception.
// An exception of close() is logged.
struct IoHandler {
    virtual ~IoHandler() = default;

    // Called once, on the carrier, before the first poll(): creates the epoll descriptor, enables the ring.
    virtual void open(Carrier& carrier) = 0;

    // Polls the kernel and dispatches events within `budget`. With a guard it may block until `deadline`; it may return
    // earlier, and must return soon after `deadline`. With a null guard it must not block, and `deadline` has no
    // meaning.
    virtual PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) = 0;

    // Makes a blocked poll() return. Any thread. A call shortly before the blocking system call makes it return, too;
    // several calls may cause one return.
    virtual void wakeup() noexcept = 0;

    // True while poll() has work that no kernel event will report: requests made since the last poll(), work beyond the
    // last budget, work that another thread has handed over. The event loop calls this after it has announced its
    // sleep, and does not sleep if it returns true; code that nests the handler must do the same. If another thread
    // changes state that this reads, it publishes the change by a seq_cst operation and then calls
    // Carrier::wakeIfParked(); the load here is seq_cst. Ordering: edges [K1] and [K3] of docs/explanation/protocol.md.
    // Never blocks or allocates.
    virtual bool hasWork() const noexcept { return false; }

    // True if poll() may dispatch events between PollGuard::enter() and leave(), as a reactor does that runs its
    // handlers inside its blocking call. Other carriers then do not call this one for help while it sleeps. Never
    // blocks or allocates.
    virtual bool dispatchesAsleep() const noexcept { return false; }

    // A descriptor that is readable while the kernel has events for poll(), or -1 if there is none. An outer poller
    // that nests this handler watches it level-triggered and checks hasWork() before it blocks (docs/guide/pollers.md).
    virtual int pollFd() const noexcept { return -1; }

    // Closes every channel and refuses new ones, for a graceful shutdown (L-3). The loop continues to call poll().
    virtual void closeChannels() {}

    // Closes every channel and cancels every operation. The loop calls poll() until closable() is true.
    virtual void prepareToClose() = 0;
    // True once no operation is in flight, so that close() may be called.
    virtual bool closable() const noexcept { return true; }
    // Releases all kernel objects.
    virtual void close() = 0;

    // The address of a tag that identifies the handler's family, for checked downcasts in the transports.
    virtual const void* family() const noexcept = 0;
};

}  // namespace weft
