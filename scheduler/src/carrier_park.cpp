// How a carrier goes to sleep, in its futex or in its poller, and how it comes back. docs/protocol.md section 1.
#include <weft/scheduler/carrier.hpp>

#include <weft/scheduler/detail/carrier_turn.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>

#include "futex.hpp"

namespace weft {

namespace {
constexpr Duration lateness = std::chrono::milliseconds(100);  // a busy host delays a wake-up by tens of ms
}

// True: asleep as far as others know, and no work after that; the caller may block.
template <class MoreWork>
bool Carrier::trySleep(detail::SleepKind kind, MoreWork moreWork) noexcept {
    if (core_.trySleep(kind, moreWork)) return true;
    leaveSleep();
    return false;
}

bool Carrier::trySleepInPoller(const EventLoop* loop) noexcept {
    if (leaveSleep() && !std::exchange(unparkForgotten_, true)) {
        log(LogLevel::warning, {"the poller of carrier ", name_,
                                " went to sleep again without unpark(): call it right after the "
                                "blocking call, or others keep waking a carrier that is busy"});
    }
    // The handler and the others' queues are looked at by the second look only, which is the one that counts.
    bool announced = false;
    bool forOthers = false;
    const auto moreWork = [&] {
        if (loop != nullptr && loop->hasRemoteWork()) return true;
        if (!std::exchange(announced, true)) return false;
        if (loop != nullptr && loop->io_->hasWork()) return true;
        return forOthers = mayNotSleep(loop == nullptr || !loop->io_->dispatchesAsleep());
    };
    if (!trySleep(detail::SleepKind::poller, moreWork)) {
        if (!forOthers) getsBusy();
        return false;
    }
    counters_.parks.add();
    advertisedDeadline_ = parkDeadline();
    while (stacks_.trim() && core_.asleepIn(detail::SleepKind::poller)) {
    }
    return true;
}

// Harmless when awake; true when it was not.
bool Carrier::leaveSleep() noexcept {
    return detail::CarrierTurn<Carrier>(*this).leaveSleep();
}

void Carrier::countWake(detail::SleepEnd end) noexcept {
    if (end == detail::SleepEnd::pollerWoken) counters_.wakesPoller.add();
    if (end == detail::SleepEnd::futexWoken) counters_.wakesFutex.add();
}

// Memory goes back a little at a time: work that comes meanwhile is not kept waiting.
void Carrier::beforeSleep() noexcept {
    while (stacks_.trim() && !core_.hasWork()) {
    }
}

// Until a waker or the next timer.
void Carrier::blockInFutex() noexcept {
    counters_.parks.add();
    const Deadline deadline = parkDeadline();
    const auto parked = static_cast<std::uint32_t>(detail::SleepKind::futex);
    while (core_.asleepIn(detail::SleepKind::futex) && (deadline == never || Clock::steady().now() < deadline)) {
        detail::futexWait(core_.sleepWord(), parked, deadline);
    }
}

bool PollGuard::enter() noexcept {
    return carrier_.trySleepInPoller(loop_);
}

void PollGuard::leave(bool toWork) noexcept {
    carrier_.leaveSleepInPoller(toWork);
}

void Carrier::leaveSleepInPoller(bool toWork) noexcept {
    leaveSleep();
    if (toWork) getsBusy();
    diagnoseOversleep();
}

// A poller that ignored parkDeadline() has delayed every timer of this carrier.
void Carrier::diagnoseOversleep() noexcept {
    if (advertisedDeadline_ == never || timers_.unfinished()) return;  // its own budget may leave timers late
    const TimePoint now = Clock::steady().now();
    if (now <= deadlineAfter(std::exchange(advertisedDeadline_, never), lateness)) return;
    const Deadline deadline = timers_.earliest();  // parkDeadline() may be early
    if (now <= deadlineAfter(deadline, lateness)) return;
    const auto late = std::chrono::duration_cast<std::chrono::milliseconds>(now - deadline).count();
    log(LogLevel::warning, {"the poller of carrier ", name_, " slept ", std::to_string(late),
                            " ms past parkDeadline(): timers of this carrier were late"});
}

}  // namespace weft
