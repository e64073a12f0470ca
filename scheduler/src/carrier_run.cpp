// Carrier: running fibers, the poller and timers.
#include <weft/scheduler/carrier.hpp>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/carrier_turn.hpp>

#include "carrier_slice.hpp"
#include "context_switch.hpp"
#include "current_carrier.hpp"
#include "fork_mark.hpp"
#include "probes.hpp"
#include "stack_overflow.hpp"

namespace weft {

namespace {

// The limit of one fireTimers() call, which checks the clock after every timerSteps steps.
constexpr Duration timerBudget = std::chrono::microseconds(50);
constexpr std::size_t timerSteps = 32;

constexpr std::uint64_t cachedFibers = 256;  // the memory of so many stays in the cache

// A result's destructor or a log sink may have called fork(): in the child this thread is no carrier.
inline void abortIfForked(const Carrier& carrier) noexcept {
    if (detail::currentCarrier() != &carrier) [[unlikely]]
        detail::endOfForkedFiber();
}

}  // namespace

void Carrier::runUntilEnd() noexcept {
    detail::CarrierTurn<Carrier>(*this).runUntilEnd();
}

inline void Carrier::noteDepth(std::size_t depth) noexcept {
    counters_.queueDepth.set(depth);
    counters_.enlistedThen.set(live_.enlisted());
}

inline bool Carrier::hasManyFibers() const noexcept {
    return counters_.spawned.get() + live_.enlisted() > counters_.finished.get() + cachedFibers;
}

inline void Carrier::beginFiberRun() noexcept {
    const TimePoint now = Clock::steady().now();
    timers_.catchUp(ownTime_ ? clock_.now() : now);
    fiberRunClock_.begin(now, group_.options().yieldBudget);
    prefetches_ = hasManyFibers();
    switchesDirectly_ = helper_ == nullptr && !traces() && !detail::tsanNoSync();
    ranBefore_ = counters_.run.get();
    if (traces()) [[unlikely]]
        fiberRunBegan_ = now;
}

inline void Carrier::endFiberRun() noexcept {
    switchesDirectly_ = false;
    [[maybe_unused]] const std::uint64_t ran = counters_.run.get() - ranBefore_;
    WEFT_PROBE2(fibers_run, index_, ran);
    if (traces()) [[unlikely]]
        trace(detail::TraceKind::runFibers, fiberRunBegan_, ran, counters_.queueDepth.get(), core_.queue().depth());
}

// Returns when a fiber switches back to this loop: this one or, after direct switches, another one.
[[gnu::always_inline]] inline detail::SwitchReason Carrier::runUntraced(detail::Fiber& first) noexcept {
    getsBusy();
    const bool guest = isAway(first);
    if (guest) [[unlikely]]
        detail::setCurrentHome(nullptr);
    beginSlice(first);
    auto& fiber = static_cast<detail::Fiber&>(detail::switchToFiber(threadContext_, first, *threadExceptions_));
    if (guest) [[unlikely]]
        detail::setCurrentHome(this);
    currentFiber_ = nullptr;
    const detail::SwitchReason left = fiber.switchReason;
    afterSwitch(fiber);  // may free the fiber
    return left;
}

[[gnu::always_inline]] inline void Carrier::run(Task& task) noexcept {
    auto& fiber = static_cast<detail::Fiber&>(task);
    if (traces()) [[unlikely]]
        return runTraced(fiber);
    runUntraced(fiber);
}

[[gnu::noinline]] void Carrier::runTraced(detail::Fiber& fiber) noexcept {
    const std::uint64_t id = fiber.id;  // runUntraced() may free the fiber
    const unsigned home = fiber.homeCarrier->index_;
    const TimePoint began = Clock::steady().now();
    const detail::SwitchReason left = runUntraced(fiber);
    trace(detail::TraceKind::run, began, id, home, static_cast<unsigned>(left));
}

// The fiber's context has been saved: acts on the reason for its switch.
[[gnu::always_inline]] inline void Carrier::afterSwitch(detail::Fiber& fiber) noexcept {
    switch (fiber.switchReason) {
        case detail::SwitchReason::settled: break;
        case detail::SwitchReason::completed: detail::retireFiber(fiber); break;
        case detail::SwitchReason::yielded:
            if (!isAway(fiber)) [[likely]] {
                makeRunnable(fiber);
                break;
            }
            [[fallthrough]];
        case detail::SwitchReason::goingHome: fiber.homeCarrier->enqueue(fiber); break;
        case detail::SwitchReason::parking: commitWait(fiber); break;
        case detail::SwitchReason::ended:
            if (!isAway(fiber)) [[likely]] {
                end(fiber);
            } else {
                endAway(fiber);
            }
            break;
    }
}

inline void Carrier::end(detail::Fiber& fiber) noexcept {
    const bool wasPoller = fiber.isPoller;
    complete(fiber);
    abortIfForked(*this);
    detail::retireFiber(fiber);
    if (wasPoller) {
        leaveSleep();  // if the body threw while parked
        poller_.release();
    }
}

// A guest has ended. Its home removes it from the live list and releases it; until then the home cannot end.
void Carrier::endAway(detail::Fiber& fiber) noexcept {
    Carrier& home = *fiber.homeCarrier;
    if (fiber.stack.overflowed()) [[unlikely]]
        detail::reportOverflowAndAbort(fiber);
    detail::completeFiber(fiber);
    abortIfForked(*this);
    const SubmitGuard guard(home.core_);
    home.core_.endedRemotely(fiber, home.live_);
    home.wakeIfParked();
}

// The home's part of endAway().
void Carrier::left(detail::Fiber& fiber) noexcept {
    counters_.finished.add();
    detail::retireFiber(fiber);
}

// makeRunnable() for a poller, or with work stealing.
[[gnu::noinline]] void Carrier::makeRunnableInItsPlace(detail::Fiber& fiber) noexcept {
    if (fiber.isPoller) [[unlikely]] {
        core_.setReadyPoller(fiber);
    } else if (mayBeStolen(fiber)) {
        publish(fiber);
    } else {
        core_.queue().push(fiber);
    }
}

void Carrier::fireTimers() noexcept {
    if (timers_.empty()) return;
    const TimePoint now = clock_.now();
    ++nonSuspendingDepth_;  // a poller that yields calls this on its fiber
    std::size_t fired = timers_.expire(now, timerSteps);
    if (timers_.unfinished()) [[unlikely]]
        fired += fireManyTimers(now);
    --nonSuspendingDepth_;
    counters_.timersFired.add(fired);
    if (fired > 0) noteTimers(fired);
}

// Timers beyond the budget fire in the next call. Until then parkDeadline() is in the past, so the carrier does not
// sleep.
[[gnu::noinline]] std::size_t Carrier::fireManyTimers(TimePoint now) noexcept {
    timerClock_.begin(Clock::steady().now(), timerBudget);
    std::size_t fired = 0;
    do fired += timers_.expire(now, timerSteps);
    while (timers_.unfinished() && !timerClock_.passed());
    return fired;
}

void Carrier::noteTimers(std::size_t fired) noexcept {
    WEFT_PROBE2(timers, index_, fired);
    if (traces()) [[unlikely]]
        trace(detail::TraceKind::timers, Clock::steady().now(), fired);
}

}  // namespace weft
