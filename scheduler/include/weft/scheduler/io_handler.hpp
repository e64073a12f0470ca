// Door 1: what an event loop asks of a transport. The scheduler declares it and knows no socket; transports implement
// it.
#pragma once

#include <cstddef>

#include <weft/scheduler/deadline.hpp>

namespace weft {

class Carrier;
class EventLoop;

// How much one call may do before it must return and let fibers run.
struct Budget {
    Duration time;            // checked between events; an event that takes longer overshoots by itself
    unsigned events = 256;    // at most this many events, 1 or more
    std::size_t fibers = 32;  // ends when the events have made so many more fibers runnable, 1 or more
};

struct PollResult {
    unsigned events = 0;  // I/O events handled; a wake-up of the loop is not one
    bool more = false;    // there is more to do now: look again without blocking
};

// The only way to sleep. A transport calls enter() immediately before its blocking system call; false means that work
// has arrived and the call must not block. After every enter() that returned true, leave() is called right after the
// system call and before any event is dispatched. Context: the hosted poller's fiber. Never blocks, allocates, throws.
// Ordering: edges [K1]-[K4] of docs/protocol.md.
class PollGuard {
  public:
    explicit PollGuard(Carrier& carrier, const EventLoop* loop = nullptr) noexcept : carrier_(carrier), loop_(loop) {}
    PollGuard(const PollGuard&) = delete;
    PollGuard& operator=(const PollGuard&) = delete;

    [[nodiscard]] bool enter() noexcept;
    // `toWork`: the caller may have events to dispatch now. False, when it knows that it has none, lets a carrier that looks
    // after others with a deadline keep that part.
    void leave(bool toWork = true) noexcept;

  private:
    Carrier& carrier_;
    const EventLoop* loop_;  // whose task queue and handler count as work; null: the run queue only
};

// A transport's poller. Context: the carrier's thread for everything except wakeup(). A handler that throws from open()
// stops the loop from starting, and is not closed. One that throws from poll(), closeChannels() or prepareToClose() ends
// its loop: prepareToClose() follows if it has not been called, then close(), without another poll(), whatever
// closable() says; start()'s future carries the exception. One from close() is logged.
struct IoHandler {
    virtual ~IoHandler() = default;

    // Called once, on the carrier, before the first poll: create the epoll fd, enable the ring.
    virtual void open(Carrier& carrier) = 0;

    // Looks at the kernel and dispatches at most `budget`. With a guard it may block until `deadline` (never earlier is
    // promised, only that it returns soon after); without one it must not block, and `deadline` says nothing.
    virtual PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) = 0;

    // Makes a blocked poll() return. Any thread; sticky (a call before the blocking system call counts), coalesced.
    virtual void wakeup() noexcept = 0;

    // True while poll() has something to do that no event of the kernel will tell of: work that the handler's users have
    // made since the last poll(), leftovers of a budget, what another thread has handed to it. The event loop asks this
    // after it has announced its sleep, and does not sleep then; so does whoever nests the handler. What other threads
    // change and this reads: they publish it by a seq_cst operation and then call Carrier::wakeIfParked(), and the load
    // here is seq_cst. Ordering: edges [K1] and [K3] of docs/protocol.md. Never blocks or allocates.
    virtual bool hasWork() const noexcept { return false; }

    // True when poll() may dispatch between PollGuard::enter() and leave(), as a reactor does that cannot be told apart from
    // its handlers: such a carrier is not called out of its sleep to help others. Never blocks or allocates.
    virtual bool dispatchesAsleep() const noexcept { return false; }

    // A descriptor that is readable while the kernel has events for poll(), so that this handler can be nested under an
    // outer poller, which watches it level-triggered and asks hasWork() before it blocks (docs/pollers.md); -1 when
    // there is none.
    virtual int pollFd() const noexcept { return -1; }

    // Closes every channel and refuses new ones; poll() goes on as before (L-3).
    virtual void closeChannels() {}

    // Closes every channel and cancels every operation; poll() is still called until they have ended.
    virtual void prepareToClose() = 0;
    // True once nothing is left in flight and close() may be called.
    virtual bool closable() const noexcept { return true; }
    // Releases all kernel objects.
    virtual void close() = 0;

    // The address of a tag that names the interface family, for checked downcasts by the transports room.
    virtual const void* family() const noexcept = 0;
};

}  // namespace weft
