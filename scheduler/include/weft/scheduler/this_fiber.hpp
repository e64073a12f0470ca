// What the running fiber can ask about itself and of its carrier.
#pragma once

#include <cstdint>
#include <string>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft {

class Carrier;

// Context: a fiber, unless said otherwise. Queries never block or allocate.
namespace thisFiber {

// True in a fiber (a hosted poller's body is one). Any thread.
bool isFiber() noexcept;

// Lets the other runnable fibers and the poller have their turn. Throws BlockingOperationException inside dispatch and
// in a carrier's own code outside any fiber. On a plain thread: yields to the operating system. With Stealable::any the
// fiber may go on on another thread.
void yield();
// Yields if this fiber and those before it have used up the budget of this drain (CarrierOptions::yieldBudget); reads
// a cycle counter otherwise. For loops that may find their next piece of work ready for ever, such as reads of a busy
// socket. Does nothing inside dispatch, in a poller's body and on a plain thread. Never throws.
void yieldIfDue() noexcept;

// Suspends the fiber (blocks a plain thread) until the time has come: never earlier; later by up to a timer tick, a
// drain of fibers and the kernel's wake-up. The throwing form throws SystemError(operation_aborted) when the fiber is
// cancelled or its carrier shuts down, the other sets `error`. Both throw BlockingOperationException where yield() does.
void sleepUntil(Deadline deadline);
void sleepUntil(Deadline deadline, ErrorCode& error);
void sleepFor(Duration time);
void sleepFor(Duration time, ErrorCode& error);
// Times in coarser units, which may be longer than a Duration: 300 years are as good as for ever.
template <class Rep, class Period>
void sleepFor(std::chrono::duration<Rep, Period> time) {
    sleepFor(saturated(time));
}
template <class Rep, class Period>
void sleepFor(std::chrono::duration<Rep, Period> time, ErrorCode& error) {
    sleepFor(saturated(time), error);
}

// True when the fiber has been asked to end (JoinHandle::cancel(), the close of the channel that spawned it), also
// behind a CancellationShield. For work that does not block. False on a plain thread.
bool cancelRequested() noexcept;

// Unique in the process; 0 on a plain thread.
std::uint64_t id() noexcept;
// As given to spawn, or "fiber-<id>"; "" on a plain thread.
std::string name();
// The carrier that the fiber belongs to; the one that it runs on now (the same while work stealing is off). Both null
// on a plain thread.
Carrier* carrier() noexcept;
Carrier* runningCarrier() noexcept;

// Continues the fiber on its own carrier, behind what is runnable there. Does nothing when it runs there already, and on
// a plain thread. Every wait, yield, socket call and channel operation begins with it; call it before you use
// Carrier::local() or timers() of carrier(). Afterwards thread_local addresses and errno are another thread's. Throws
// BlockingOperationException where yield() does, if the fiber is away.
void goHome();

}  // namespace thisFiber
}  // namespace weft
