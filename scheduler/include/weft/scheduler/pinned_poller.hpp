// PinnedPoller: what the body of a hosted poller talks to its carrier through. "Pinned" because no other carrier ever
// runs it. docs/protocol.md section 1.
#pragma once

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/io_handler.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft {

class Carrier;

// The cooperation protocol of a poller that may block in the kernel:
//     while (!poller.stopRequested()) {
//         if (idle && poller.tryParkPoller()) {
//             advertise that the wake-up must really be sent (if the wake-up is gated);
//             if (poller.canParkPoller()) block until poller.parkDeadline();   // immediately before the system call
//             poller.unpark();                                                 // right after it, before any dispatch
//         }
//         events = poll without blocking, dispatch;
//         idle = !poller.maybeYield(events > 0) && events == 0;
//     }
// guard() packages the first half. Context of every member: the poller's own body, outside of other fibers (asserted).
class PinnedPoller {
  public:
    // Called from any thread to make the blocked body return; sticky, coalesced, must not throw. Called only after the
    // carrier was seen asleep in this poller, at most once per sleep, and never after the registration's future is
    // done.
    using Wakeup = UniqueFunction<void()>;
    using Body = UniqueFunction<void(PinnedPoller&)>;

    PinnedPoller(const PinnedPoller&) = delete;
    PinnedPoller& operator=(const PinnedPoller&) = delete;

    // Says that the carrier is about to sleep in this poller. False: there is work, do not block. After true, unpark()
    // must follow whatever happens.
    [[nodiscard]] bool tryParkPoller() noexcept;
    // True while the carrier is parked and has no work: ask immediately before the blocking call, never cache.
    [[nodiscard]] bool canParkPoller() const noexcept;
    // Back to running; call right after the blocking call and before any dispatch. Harmless when not parked.
    void unpark() noexcept;
    // Lets the carrier run its fibers if any are runnable; true when it did. `hadIoWork`: the poller handled I/O since
    // the last call (an idle poller lets the carrier look for work elsewhere, once work stealing is on).
    bool maybeYield(bool hadIoWork);
    // When the carrier's earliest timer is due: block no longer than that. Oversleeping is reported.
    Deadline parkDeadline() const noexcept;
    // The carrier is shutting down: return from the body soon.
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
