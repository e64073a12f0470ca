// How a carrier runs its fibers and gives its poller its turn.
#include <weft/scheduler/carrier.hpp>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

#include "current_carrier.hpp"
#include "fiber_access.hpp"
#include "stack_overflow.hpp"

namespace weft {

// Runs fibers until none is runnable or the budget has passed; at least one if any is (W8).
unsigned Carrier::drain() noexcept {
    core_.queue().takeSubmitted();
    counters_.queueDepth.set(core_.queue().depth());
    Task* task = nextTask();
    if (task == nullptr) return 0;

    const TimePoint now = Clock::steady().now();
    timers_.catchUp(now);
    drainClock_.begin(now, group_.options().yieldBudget);
    unsigned ran = 0;
    do {
        prefetchNext();
        runFiber(static_cast<detail::Fiber&>(*task));
        ++ran;
    } while (!drainClock_.passed() && (task = nextTask()) != nullptr);
    return ran;
}

// Where many fibers wait, each comes back to cold lines. Those of the next two are fetched while this one runs: first
// the control block, which says where the stack is, then the frames that the fiber returns to.
inline void Carrier::prefetchNext() const noexcept {
    if (const Task* second = core_.queue().peek(1)) static_cast<const detail::Fiber*>(second)->prefetch();
    if (const Task* first = core_.queue().peek(0)) static_cast<const detail::Fiber*>(first)->prefetchFrames();
}

Task* Carrier::nextTask() noexcept {
    // No draw for an empty queue: how often a carrier looks depends on time.
    if (shuffled_ && core_.queue().depth() > 0) [[unlikely]] {
        core_.queue().promote(static_cast<std::uint32_t>(shuffle_()));
    }
    return core_.queue().pop();
}

void Carrier::runFiber(detail::Fiber& fiber) noexcept {
    if (!fiber.started) {
        fiber.started = true;
        fibers_.add(fiber);
        counters_.spawned.add();
    }
    fiber.running = this;
    currentFiber_ = &fiber;
    counters_.run.add();
    const bool guest = fiber.homeCarrier != this;
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
            makeRunnable(fiber);
            break;
        case detail::SwitchReason::parking:
            commitWait(fiber);
            break;
        case detail::SwitchReason::ended:
            if (fiber.stack.overflowed()) [[unlikely]]
                detail::reportOverflowAndAbort(fiber);
            fibers_.remove(fiber);
            counters_.finished.add();
            const bool wasPoller = fiber.isPoller;
            detail::completeFiber(fiber);
            if (wasPoller) {
                leaveSleep();  // a body that threw while parked
                poller_.release();
            }
            break;
    }
}

// A cancellation that came before the commit is delivered behind it [X1]. From the commit on a guest may be resumed at
// its home, and end there; a fiber of this carrier ends on this thread only.
void Carrier::commitWait(detail::Fiber& fiber) noexcept {
    const bool guest = fiber.homeCarrier != this;
    const auto epoch = fiber.parkEpoch;
    if (guest) [[unlikely]]
        fiber.state.addReference();
    if (!fiber.park.commit(epoch)) {
        makeRunnable(fiber);
    } else if (fiber.cancellationDue()) [[unlikely]] {
        WakeKey(fiber, epoch, WakeReason::cancelled).wake();
    }
    if (guest) [[unlikely]] {
        if (fiber.state.release()) detail::freeFiber(fiber);
    }
}

// Gives the poller one slice if it is runnable. It may have gone to sleep in its body: it comes back, or it was
// descheduled between tryParkPoller() and the blocking call, and then nobody sleeps: take PARKED back.
bool Carrier::runPoller() noexcept {
    Task* poller = core_.takeReadyPoller();
    if (poller == nullptr) return false;
    runFiber(static_cast<detail::Fiber&>(*poller));
    leaveSleep();
    return true;
}

// On the carrier's own thread, which is awake: nobody needs to be told.
void Carrier::makeRunnable(detail::Fiber& fiber) noexcept {
    if (fiber.isPoller) [[unlikely]] {
        core_.setReadyPoller(fiber);
    } else {
        core_.queue().push(fiber);
    }
}

void Carrier::fireTimers() noexcept {
    if (timers_.empty()) return;
    counters_.timersFired.add(timers_.expire(Clock::steady().now()));
}

void Carrier::switchOut(detail::Fiber& fiber, detail::SwitchReason reason) noexcept {
    fiber.switchReason = reason;
    detail::switchContext(fiber, threadContext_, *threadExceptions_);
}

void FiberAccess::yield(Carrier& carrier) noexcept {
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
    Carrier& carrier = *fiber.running;
    fiber.switchReason = detail::SwitchReason::ended;
    detail::leaveContext(fiber, carrier.threadContext_, *carrier.threadExceptions_);
}

}  // namespace weft
