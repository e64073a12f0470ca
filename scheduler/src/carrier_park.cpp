// How a carrier goes to sleep, in its futex or in its poller, and how it comes back. docs/protocol.md section 1.
#include <weft/scheduler/carrier.hpp>

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>

#include "futex.hpp"

namespace weft {

namespace {
constexpr Duration lateness = std::chrono::milliseconds(100);  // a busy host delays a wake-up by tens of ms
}

// All the re-check loads are seq_cst [K3]. The running poller's own slot is empty, so a full one is a wake.
bool Carrier::hasWork() const noexcept {
    return !queue_.empty() || readyPoller_.load(std::memory_order_seq_cst) != nullptr ||
           (stopRequested_.load(std::memory_order_seq_cst) && !stopping_) ||
           stragglersWanted_.load(std::memory_order_seq_cst);
}

// True: advertised, and no work after it; the caller may block. False: not parked.
bool Carrier::advertiseSleep(detail::SleepKind kind) noexcept {
    if (hasWork()) return false;  // spares the two exchanges
    park_.advertise(kind);        // [K2]
    advertised_ = true;
    advertisedAs_ = kind;
    if (!hasWork()) return true;
    leaveSleep();
    return false;
}

void Carrier::leaveSleep() noexcept {
    if (!advertised_) return;
    advertised_ = false;
    const bool woken = park_.leave();  // [K4]
    if (advertisedAs_ == detail::SleepKind::poller) {
        if (woken) {
            poller_.countWake();
            counters_.wakesPoller.add();
        }
    } else if (woken) {
        counters_.wakesFutex.add();
    }
}

void Carrier::parkInFutex() noexcept {
    stacks_.trim();
    if (!advertiseSleep(detail::SleepKind::futex)) return;
    counters_.parks.add();
    const Deadline deadline = parkDeadline();
    const auto parked = static_cast<std::uint32_t>(detail::SleepKind::futex);
    while (park_.current() == detail::SleepKind::futex && (deadline == never || Clock::steady().now() < deadline)) {
        detail::futexWait(park_.word(), parked, deadline);
    }
    leaveSleep();
}

bool PollGuard::enter() noexcept {
    if (!carrier_.advertiseSleep(detail::SleepKind::poller)) return false;
    if (loop_ != nullptr && loop_->hasRemoteWork()) {  // [K3]
        carrier_.leaveSleep();
        return false;
    }
    carrier_.noteParkedInPoller();
    return true;
}

void PollGuard::leave() noexcept {
    carrier_.leaveSleep();
    carrier_.diagnoseOversleep();
}

void Carrier::noteParkedInPoller() noexcept {
    counters_.parks.add();
    advertisedDeadline_ = parkDeadline();
    stacks_.trim();
}

// A poller that ignored parkDeadline() has delayed every timer of this carrier.
void Carrier::diagnoseOversleep() noexcept {
    if (advertisedDeadline_ == never) return;
    const Deadline deadline = std::exchange(advertisedDeadline_, never);
    const TimePoint now = Clock::steady().now();
    if (now <= deadline + lateness) return;
    const auto late = std::chrono::duration_cast<std::chrono::milliseconds>(now - deadline).count();
    log(LogLevel::warning, "the poller of carrier " + name_ + " slept " + std::to_string(late) +
                               " ms past parkDeadline(): timers of this carrier were late");
}

}  // namespace weft
