// PinnedPoller: the interface between a hosted poller's body and its carrier. "Pinned" because no other carrier ever
// runs it. docs/explanation/protocol.md section 1.
#pragma once

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/poll_guard.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft {

class Carrier;

// The cooperation protocol of a poller that may block in the kernel:
//     while (!poller.stopRequested()) {
//         if (idle && poller.tryParkPoller()) {
//             announce that wake-ups must be sent from now on (if the poller suppresses them while it is awake);
//             if (poller.canParkPoller()) block until poller.parkDeadline();   // immediately before the system call
//             poller.unpark();                                                 // right after it, before any dispatch
//         }
//         events = poll without blocking, dispatch;
//         idle = !poller.maybeYield(events > 0) && events == 0;
//     }
// guard() wraps the part that sleeps. Context of every member: the poller's own body, in no other fiber (asserted).
class PinnedPoller {
  public:
    // Makes the body's blocking call return; a call shortly before it must make it return, too. Must not throw. The
    // scheduler calls it from any thread, at most once for each sleep of the carrier in this poller, and never after
    // the registration's future is done.
    using Wakeup = UniqueFunction<void()>;
    using Body = UniqueFunction<void(PinnedPoller&)>;

    PinnedPoller(const PinnedPoller&) = delete;
    PinnedPoller& operator=(const PinnedPoller&) = delete;

    // Announces that the carrier is about to sleep in this poller. False: there is work, do not block. After true, call
    // unpark() in every case.
    [[nodiscard]] bool tryParkPoller() noexcept;
    // True while the carrier is parked and has no work. Call it immediately before every blocking call.
    [[nodiscard]] bool canParkPoller() const noexcept;
    // Ends the sleep. Call it right after the blocking call, before any dispatch. Has no effect if the carrier is not
    // parked.
    void unpark() noexcept;
    // Fires due timers and lets the carrier run its fibers if any are runnable; returns true if it did. Pass
    // `hadIoWork` = true if the poller has handled I/O since the last call. With false and work stealing, a carrier
    // without work tries to steal some. Throws BlockingOperationException inside a NonSuspendingScope.
    bool maybeYield(bool hadIoWork);
    // Carrier::parkDeadline(): do not block longer than that. A sleep that ends more than 100 ms after the earliest
    // timer was due is logged.
    Deadline parkDeadline() const noexcept;
    // True once the carrier is shutting down: return from the body soon.
    bool stopRequested() const noexcept;

    // enter() = tryParkPoller() and canParkPoller(); leave() = unpark().
    PollGuard guard() noexcept { return PollGuard(carrier_); }
    Carrier& carrier() const noexcept { return carrier_; }

  private:
    friend class Carrier;
    explicit PinnedPoller(Carrier& carrier) noexcept : carrier_(carrier) {}

    Carrier& carrier_;
};

}  // namespace weft
