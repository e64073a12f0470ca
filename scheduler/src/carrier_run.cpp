// Carrier: running fibers, the poller and timers.
#include <weft/scheduler/carrier.hpp>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/carrier_turn.hpp>

#include "context_switch.hpp"
#include "current_carrier.hpp"
#include "fiber_access.hpp"
#include "fork_mark.hpp"
#include "probes.hpp"
#include "stack_overflow.hpp"

namespace weft {

namespace {

// The limit of one fireTimers() call, which checks the clock after every timerSteps steps.
constexpr Duration timerBudget = std::chrono::microseconds(50);
constexpr std::size_t timerSteps = 32;

constexpr std::uint64_t cachedFibers = 256;  // the memory of so many stays in the cache

}  // namespace

void Carrier::runUntilEnd() noexcept {
    detail::CarrierTurn<Carrier>(*this).runUntilEnd();
}

inline bool Carrier::hasManyFibers() const noexcept {
    return counters_.spawned.get() + live_.enlisted() > counters_.finished.get() + cachedFibers;
}

inline void Carrier::beginFiberRun() noexcept {
    const TimePoint now = Clock::steady().now();
    timers_.catchUp(ownTime_ ? clock_.now() : now);
    fiberRunClock_.begin(now, group_.options().yieldBudget);
    prefetches_ = hasManyFibers();
    if (traces()) [[unlikely]]
        fiberRunBegan_ = now;
}

inline void Carrier::endFiberRun(unsigned ran) noexcept {
    WEFT_PROBE2(fibers_run, index_, ran);
    if (traces()) [[unlikely]]
        trace(detail::TraceKind::runFibers, fiberRunBegan_, ran, counters_.queueDepth.get(), core_.queue().depth());
}

// While one fiber runs, this prefetches the control block and closure of the second next fiber, and from those of the
// next fiber its frames and objects.
[[gnu::always_inline]] inline void Carrier::prefetchNext() const noexcept {
    if (!prefetches_) [[likely]]
        return;
    if (const Task* second = core_.queue().peek(1)) static_cast<const detail::Fiber*>(second)->prefetch();
    if (const auto* first = static_cast<const detail::Fiber*>(core_.queue().peek(0))) {
        first->prefetchFrames();
        prefetchObjects(*first, detail::PrefetchStep::held);
    }
}

// Only of fibers that are at home: what the closure refers to may belong to the home's thread.
inline void Carrier::prefetchObjects(const detail::Fiber& fiber, detail::PrefetchStep step) const noexcept {
    if (fiber.operations->prefetch != nullptr && fiber.hasBegun() && !isAway(fiber))
        fiber.operations->prefetch(fiber, step);
}

inline Task* Carrier::nextTask(bool& moved) noexcept {
    // Draw no random number for an empty queue: the number of such calls depends on timing, and the order must not.
    if (shuffled_ && core_.queue().depth() > 0) [[unlikely]] {
        core_.queue().promote(static_cast<std::uint32_t>(shuffle_()));
    }
    return core_.queue().pop(moved);
}

[[gnu::always_inline]] inline detail::SwitchReason Carrier::runUntraced(detail::Fiber& fiber) noexcept {
    getsBusy();
    fiber.running.store(this, std::memory_order_relaxed);
    currentFiber_ = &fiber;
    counters_.run.add();
    const bool guest = isAway(fiber);
    if (guest) [[unlikely]]
        detail::setCurrentHome(nullptr);
    WEFT_PROBE2(fiber_run, index_, fiber.id);
    detail::switchToFiber(threadContext_, fiber, *threadExceptions_);
    if (guest) [[unlikely]]
        detail::setCurrentHome(this);
    currentFiber_ = nullptr;
    const detail::SwitchReason left = fiber.switchReason;
    WEFT_PROBE2(fiber_left, index_, static_cast<int>(left));
    afterSwitch(fiber);  // may free the fiber
    return left;
}

[[gnu::always_inline]] inline void Carrier::run(Task& task) noexcept {
    auto& fiber = static_cast<detail::Fiber&>(task);
    if (prefetches_) [[unlikely]]
        prefetchObjects(fiber, detail::PrefetchStep::referred);
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
        case detail::SwitchReason::yielded:
            if (!isAway(fiber)) [[likely]] {
                makeRunnable(fiber);
                break;
            }
            [[fallthrough]];
        case detail::SwitchReason::goingHome: fiber.homeCarrier->enqueue(fiber); break;
        case detail::SwitchReason::parking: commitWait(fiber); break;
        case detail::SwitchReason::ended:
            if (fiber.stack.overflowed()) [[unlikely]]
                detail::reportOverflowAndAbort(fiber);
            if (!isAway(fiber)) [[likely]] {
                end(fiber);
            } else {
                endAway(fiber);
            }
            break;
    }
}

inline void Carrier::end(detail::Fiber& fiber) noexcept {
    live_.remove(fiber);
    counters_.finished.add();
    const bool wasPoller = fiber.isPoller;
    detail::completeFiber(fiber);
    detail::releaseFiber(fiber);
    if (wasPoller) {
        leaveSleep();  // if the body threw while parked
        poller_.release();
    }
}

// A guest has ended. Its home removes it from the live list and releases it; until then the home cannot end.
void Carrier::endAway(detail::Fiber& fiber) noexcept {
    Carrier& home = *fiber.homeCarrier;
    detail::completeFiber(fiber);
    const SubmitGuard guard(home.core_);
    home.core_.endedRemotely(fiber, home.live_);
    home.wakeIfParked();
}

// The home's part of endAway().
void Carrier::left(detail::Fiber& fiber) noexcept {
    counters_.finished.add();
    detail::releaseFiber(fiber);
}

// Commits the wait, then delivers a cancellation that was requested before the commit [X1]. A fiber waits only at home
// and therefore ends on this thread, so it cannot be freed between the two.
void Carrier::commitWait(detail::Fiber& fiber) noexcept {
    WEFT_DEBUG_ASSERT(!isAway(fiber), "a fiber waits away from its home");
    const auto epoch = fiber.parkEpoch;
    if (!fiber.park.commit(epoch)) {
        makeRunnable(fiber);
    } else if (fiber.cancellationDue()) [[unlikely]] {
        WakeKey(fiber, epoch, WakeReason::cancelled).wake();
    }
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
    std::size_t fired = timers_.expire(now, timerSteps);
    if (timers_.unfinished()) [[unlikely]]
        fired += fireManyTimers(now);
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

void Carrier::switchOut(detail::Fiber& fiber, detail::SwitchReason reason) noexcept {
    fiber.switchReason = reason;
    detail::switchToThread(fiber, threadContext_, *threadExceptions_);
}

void FiberAccess::goHome(Carrier& carrier) noexcept {
    carrier.currentFiber_->resumesAnywhere = false;
    carrier.switchOut(*carrier.currentFiber_, detail::SwitchReason::goingHome);
}

void FiberAccess::yield(Carrier& carrier, Resumes where) noexcept {
    carrier.currentFiber_->resumesAnywhere = where == Resumes::anywhere;
    carrier.switchOut(*carrier.currentFiber_, detail::SwitchReason::yielded);
}

[[gnu::always_inline]] inline void FiberAccess::leave(detail::Fiber& fiber) noexcept {
    // The fiber may have moved to another carrier: switch to the one that runs it now.
    Carrier* const running = fiber.running.load(std::memory_order_relaxed);
    if (running == nullptr) [[unlikely]]
        detail::endOfForkedFiber();
    Carrier& carrier = *running;
    fiber.switchReason = detail::SwitchReason::ended;
    detail::leaveFiber(fiber, carrier.threadContext_, *carrier.threadExceptions_);
}

// Calls nothing that does not return: an unanswered call would cost the carrier its predictions of returns.
void detail::fiberMain(FiberContext* from, FiberContext* self) noexcept {
    auto& fiber = static_cast<Fiber&>(*self);
    arrive(fiber, *from);
    fiber.operations->run(fiber);
    FiberAccess::leave(fiber);
}

}  // namespace weft
