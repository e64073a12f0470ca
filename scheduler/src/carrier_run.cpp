// How a carrier runs its fibers and gives its poller its turn.
#include <weft/scheduler/carrier.hpp>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/carrier_turn.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

#include "current_carrier.hpp"
#include "fiber_access.hpp"
#include "fork_mark.hpp"
#include "stack_overflow.hpp"

namespace weft {

namespace {

// Of one call of fireTimers(). A step takes a time of its own, so that the clock is read after a few.
constexpr Duration timerBudget = std::chrono::microseconds(50);
constexpr std::size_t timerSteps = 32;

}  // namespace

void Carrier::runUntilEnd() noexcept {
    detail::CarrierTurn<Carrier>(*this).runUntilEnd();
}

inline void Carrier::beginDrain() noexcept {
    const TimePoint now = Clock::steady().now();
    timers_.catchUp(now);
    drainClock_.begin(now, group_.options().yieldBudget);
}

// Where many fibers wait, each comes back to cold lines. Those of the next two are fetched while this one runs: first
// the control block, which says where the stack is, then the frames that the fiber returns to.
inline void Carrier::prefetchNext() const noexcept {
    if (const Task* second = core_.queue().peek(1)) static_cast<const detail::Fiber*>(second)->prefetch();
    if (const Task* first = core_.queue().peek(0)) static_cast<const detail::Fiber*>(first)->prefetchFrames();
}

inline Task* Carrier::nextTask(bool& moved) noexcept {
    // No draw for an empty queue: how often a carrier looks depends on time.
    if (shuffled_ && core_.queue().depth() > 0) [[unlikely]] {
        core_.queue().promote(static_cast<std::uint32_t>(shuffle_()));
    }
    return core_.queue().pop(moved);
}

inline void Carrier::run(Task& task) noexcept {
    auto& fiber = static_cast<detail::Fiber&>(task);
    getsBusy();
    fiber.running.store(this, std::memory_order_relaxed);
    currentFiber_ = &fiber;
    counters_.run.add();
    const bool guest = isAway(fiber);
    if (guest) [[unlikely]]
        detail::setCurrentHome(nullptr);
    detail::switchContext(threadContext_, fiber, *threadExceptions_);
    if (guest) [[unlikely]]
        detail::setCurrentHome(this);
    currentFiber_ = nullptr;
    afterSwitch(fiber);
}

// The fiber's context has been saved: do what it asked for.
void Carrier::afterSwitch(detail::Fiber& fiber) noexcept {
    switch (fiber.switchReason) {
        case detail::SwitchReason::yielded:
            if (!isAway(fiber)) [[likely]] {
                makeRunnable(fiber);
                break;
            }
            [[fallthrough]];
        case detail::SwitchReason::goingHome:
            fiber.homeCarrier->enqueue(fiber);
            break;
        case detail::SwitchReason::parking:
            commitWait(fiber);
            break;
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
        leaveSleep();  // a body that threw while parked
        poller_.release();
    }
}

// A guest has ended: its home, which has it on its list and so cannot have ended, takes it off and lets go of it.
void Carrier::endAway(detail::Fiber& fiber) noexcept {
    Carrier& home = *fiber.homeCarrier;
    detail::completeFiber(fiber);
    const Visit visit(home.core_);
    home.core_.endedElsewhere(fiber, home.live_);
    home.wakeIfParked();
}

// The home's side of endAway().
void Carrier::left(detail::Fiber& fiber) noexcept {
    counters_.finished.add();
    detail::releaseFiber(fiber);
}

// A cancellation that came before the commit is delivered after it [X1]. A fiber waits at home only, so that it ends on this
// thread, and not while it is looked at.
void Carrier::commitWait(detail::Fiber& fiber) noexcept {
    WEFT_DEBUG_ASSERT(!isAway(fiber), "a fiber waits away from its home");
    const auto epoch = fiber.parkEpoch;
    if (!fiber.park.commit(epoch)) {
        makeRunnable(fiber);
    } else if (fiber.cancellationDue()) [[unlikely]] {
        WakeKey(fiber, epoch, WakeReason::cancelled).wake();
    }
}

// On the carrier's own thread, which is awake: nobody needs to be told.
void Carrier::makeRunnable(detail::Fiber& fiber) noexcept {
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
    const TimePoint now = Clock::steady().now();
    counters_.timersFired.add(timers_.expire(now, timerSteps));
    if (timers_.unfinished()) [[unlikely]]
        fireManyTimers(now);
}

// What the budget leaves over comes with the next call: parkDeadline() has passed until then, so nobody sleeps.
[[gnu::noinline]] void Carrier::fireManyTimers(TimePoint now) noexcept {
    timerClock_.begin(now, timerBudget);
    do counters_.timersFired.add(timers_.expire(now, timerSteps));
    while (timers_.unfinished() && !timerClock_.passed());
}

void Carrier::switchOut(detail::Fiber& fiber, detail::SwitchReason reason) noexcept {
    fiber.switchReason = reason;
    detail::switchContext(fiber, threadContext_, *threadExceptions_);
}

void FiberAccess::goHome(Carrier& carrier) noexcept {
    carrier.currentFiber_->resumesAnywhere = false;
    carrier.switchOut(*carrier.currentFiber_, detail::SwitchReason::goingHome);
}

void FiberAccess::yield(Carrier& carrier, Resumes where) noexcept {
    carrier.currentFiber_->resumesAnywhere = where == Resumes::anywhere;
    carrier.switchOut(*carrier.currentFiber_, detail::SwitchReason::yielded);
}

NonSuspendingScope::NonSuspendingScope() noexcept : NonSuspendingScope(Carrier::current()) {}

NonSuspendingScope::NonSuspendingScope(Carrier* carrier) noexcept : carrier_(carrier) {
    if (carrier_) ++carrier_->nonSuspendingDepth_;
}

NonSuspendingScope::~NonSuspendingScope() {
    if (carrier_) --carrier_->nonSuspendingDepth_;
}

bool NonSuspendingScope::active() noexcept {
    Carrier* carrier = Carrier::current();
    return carrier != nullptr && carrier->nonSuspendingDepth_ != 0;
}

namespace detail {

// The first frame of a fiber above the trampoline.
void fiberMain(FiberContext& self) noexcept {
    auto& fiber = static_cast<Fiber&>(self);
    fiber.run(fiber);
    // The fiber may have come to another carrier meanwhile: leave to the one that runs it now.
    FiberAccess::leave(fiber);
}

}  // namespace detail

void FiberAccess::leave(detail::Fiber& fiber) noexcept {
    Carrier* const running = fiber.running.load(std::memory_order_relaxed);
    if (running == nullptr) [[unlikely]]
        detail::endOfForkedFiber();
    Carrier& carrier = *running;
    fiber.switchReason = detail::SwitchReason::ended;
    detail::leaveContext(fiber, carrier.threadContext_, *carrier.threadExceptions_);
}

}  // namespace weft
