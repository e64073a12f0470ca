// thisFiber: operations on the running fiber.
#pragma once

#include <cstdint>
#include <string>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft {

class Carrier;

// Context: a fiber, unless stated otherwise. Queries never block or allocate (except name()).
namespace thisFiber {

// True in a fiber (a hosted poller's body is one). Any thread.
bool isFiber() noexcept;

// Queues the fiber behind the other runnable ones. The poller runs before it once the run of fibers has used up its
// budget (CarrierOptions::yieldBudget). With Stealable::any the fiber may resume on another thread. Throws
// BlockingOperationException inside dispatch and in a carrier's own code outside any fiber. On a plain thread:
// std::this_thread::yield().
void yield();
// Yields if the current run of fibers has used up its budget (CarrierOptions::yieldBudget); otherwise only reads a
// cycle counter. For loops whose next piece of work may always be ready, such as reads of a busy socket. Does nothing
// inside dispatch, in a poller's body and on a plain thread. Never throws.
void yieldIfDue() noexcept;

// Suspends the fiber (blocks a plain thread) until `deadline`. Returns no earlier, and later by up to one timer tick
// plus one run of fibers plus the kernel's wake-up latency. When the fiber is cancelled or its carrier shuts down, the
// throwing overload throws SystemError(operation_aborted), the other sets `error`. Both throw
// BlockingOperationException where yield() does.
void sleepUntil(Deadline deadline);
void sleepUntil(Deadline deadline, ErrorCode& error);
void sleepFor(Duration time);
void sleepFor(Duration time, ErrorCode& error);
// The same for times in other units; a time beyond Duration::max() counts as that (292 years).
template <class Rep, class Period>
void sleepFor(std::chrono::duration<Rep, Period> time) {
    sleepFor(saturated(time));
}
template <class Rep, class Period>
void sleepFor(std::chrono::duration<Rep, Period> time, ErrorCode& error) {
    sleepFor(saturated(time), error);
}

// True if the fiber has been cancelled (by JoinHandle::cancel(), or by the close of the channel that spawned it), if a
// CancelScope around it is cancelled or if deadline() has passed; also under a CancellationShield. For work that does
// not block. On a plain thread, the scopes only.
bool cancelRequested() noexcept;
// The deadline of the DeadlineScopes around this call, for example to send it to another service; `never` without one.
// Any thread.
Deadline deadline() noexcept;

// Unique in the process; 0 on a plain thread.
std::uint64_t id() noexcept;
// SpawnOptions::name, or "fiber-<id>"; "" on a plain thread.
std::string name();
// carrier(): the fiber's home carrier. runningCarrier(): the carrier that it runs on now, which is the same unless work
// stealing is on. Both null on a plain thread.
Carrier* carrier() noexcept;
Carrier* runningCarrier() noexcept;

// Moves the fiber to its home carrier and queues it after the fibers that are runnable there. Does nothing if it runs
// there already, and on a plain thread. Every wait, socket call and channel operation does this first; call it before
// you use local() or timers() of carrier(). After a move, thread_local addresses and errno are those of another thread.
// Throws BlockingOperationException if it would have to move where yield() throws.
void goHome();

}  // namespace thisFiber
}  // namespace weft
