// Carrier: sleep in the futex or in the poller, and the end of a sleep. docs/explanation/protocol.md section 1.
#include <weft/scheduler/carrier.hpp>

#include <weft/scheduler/detail/carrier_turn.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>

#include "futex.hpp"
#include "probes.hpp"

namespace weft {

namespace {
constexpr Duration lateness = std::chrono::milliseconds(100);  // a busy host may delay a wake-up by tens of ms
}

// True: the sleep is announced and there is still no work, so the caller may block.
template <class MoreWork>
bool Carrier::trySleep(detail::SleepKind kind, MoreWork moreWork) noexcept {
    if (core_.trySleep(kind, moreWork)) return true;
    leaveSleep();
    return false;
}

bool Carrier::trySleepInPoller(const EventLoop* loop) noexcept {
    if (leaveSleep() && !std::exchange(unparkForgotten_, true)) {
        log(LogLevel::warning, {"the poller of carrier ", name_,
                                " went to sleep again without unpark(): call unpark() right after the "
                                "blocking call, or other threads keep waking the busy carrier"});
    }
    // The handler and the other carriers' queues are checked only after the announcement, because only that check
    // decides.
    bool announced = false;
    bool forOthers = false;
    const auto moreWork = [&] {
        if (loop != nullptr && loop->hasRemoteWork()) return true;
        if (!std::exchange(announced, true)) return false;
        if (loop != nullptr && loop->io_->hasWork()) return true;
        return forOthers = mustNotSleep(loop == nullptr || !loop->io_->dispatchesAsleep());
    };
    if (!trySleep(detail::SleepKind::poller, moreWork)) {
        if (!forOthers) getsBusy();
        return false;
    }
    notePark(detail::SleepKind::poller);
    advertisedDeadline_ = parkDeadline();
    while (stacks_.trim() && core_.asleepIn(detail::SleepKind::poller)) {
    }
    return true;
}

// Ends an announced sleep; has no effect otherwise. True if a sleep was announced.
bool Carrier::leaveSleep() noexcept {
    return detail::CarrierTurn<Carrier>(*this).leaveSleep();
}

void Carrier::countWake(detail::SleepEnd end) noexcept {
    parkEnd_ = end;
    WEFT_PROBE2(unpark, index_, static_cast<int>(end));
    if (end == detail::SleepEnd::pollerWoken) counters_.wakesPoller.add();
    if (end == detail::SleepEnd::futexWoken) counters_.wakesFutex.add();
}

void Carrier::notePark(detail::SleepKind kind) noexcept {
    counters_.parks.add();
    WEFT_PROBE2(park, index_, static_cast<int>(kind));
    if (!traces()) [[likely]]
        return;
    parkKind_ = kind;
    parkBegan_ = Clock::steady().now();
}

// Returns the memory of a few stacks at a time, so that new work does not wait for it.
void Carrier::beforeSleep() noexcept {
    while (stacks_.trim() && !core_.hasWork()) {
    }
}

// A carrier with a clock of its own sleeps until the clock has moved: timers that are due end the sleep at once.
Deadline Carrier::onSteadyClock(Deadline timer) const noexcept {
    return timer != never && timer <= clock_.now() ? TimePoint() : never;
}

// Makes the carrier check its timers. Any thread.
void Carrier::wakeForClock() noexcept {
    const SubmitGuard guard(core_);
    core_.requestTurn();
    wakeIfParked();
}

// Blocks until a waker ends the sleep or parkDeadline() passes.
void Carrier::blockInFutex() noexcept {
    notePark(detail::SleepKind::futex);
    const Deadline deadline = parkDeadline();
    const auto parked = static_cast<std::uint32_t>(detail::SleepKind::futex);
    while (core_.asleepIn(detail::SleepKind::futex) && (deadline == never || Clock::steady().now() < deadline)) {
        detail::futexWait(core_.sleepWord(), parked, deadline);
    }
}

void Carrier::leaveSleepInPoller(bool toWork) noexcept {
    leaveSleep();
    if (toWork) getsBusy();
    diagnoseOversleep();
}

// Logs a warning if the poller slept past parkDeadline() and thereby delayed timers.
void Carrier::diagnoseOversleep() noexcept {
    if (advertisedDeadline_ == never || timers_.unfinished() || ownTime_)
        return;  // the carrier's own budget may delay timers
    const TimePoint now = Clock::steady().now();
    if (now <= deadlineAfter(std::exchange(advertisedDeadline_, never), lateness)) return;
    const Deadline deadline = timers_.earliest();  // parkDeadline() may be early
    if (now <= deadlineAfter(deadline, lateness)) return;
    const auto late = std::chrono::duration_cast<std::chrono::milliseconds>(now - deadline).count();
    log(LogLevel::warning, {"the poller of carrier ", name_, " slept ", std::to_string(late),
                            " ms past parkDeadline(): timers of this carrier were late"});
}

}  // namespace weft
