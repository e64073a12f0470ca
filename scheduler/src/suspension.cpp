#include <weft/scheduler/suspension.hpp>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/detail/lazy_timer.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/timer_wheel.hpp>

#include "fiber_access.hpp"
#include "thread_task.hpp"

namespace weft {

namespace {

// The timer of a timed wait, on the waiter's stack.
struct WaitTimer final : TimerEntry {
    explicit WaitTimer(WakeKey key) noexcept : TimerEntry(&WaitTimer::fired), key(key) {}
    static void fired(TimerEntry& entry) noexcept { static_cast<WaitTimer&>(entry).key.wake(); }
    WakeKey key;
};

}  // namespace

detail::CurrentTask detail::currentTask() noexcept {
    if (Fiber* const fiber = FiberAccess::currentFiber()) return {*fiber, fiber->interrupts, fiber->scopes};
    ThreadTask& thread = threadTask();
    return {thread.task, thread.interrupts, thread.scopes};
}

Suspension::Suspension(const char* call, Resumes where) : anywhere_(where == Resumes::anywhere) {
    Carrier* carrier = Carrier::current();
    if (carrier == nullptr) {
        task_ = &detail::threadTask().task;
    } else {
        detail::Fiber* const mayWait = fiberThatMayWait(*carrier);
        if (mayWait == nullptr) throw BlockingOperationException(call);
        detail::Fiber& fiber = *mayWait;
        // Wakes, cancellations and timers require that a fiber waits on its home carrier.
        if (fiber.homeCarrier != carrier) [[unlikely]]
            FiberAccess::goHome(*carrier);
        task_ = &fiber;
        fiber.lastCall.store(call, std::memory_order_relaxed);
    }
    epoch_ = task_->park.prepare();
}

// A carrier's own code, outside any fiber, would block the thread that has to deliver the wake.
inline detail::Fiber* Suspension::fiberThatMayWait(const Carrier& carrier) noexcept {
    return carrier.nonSuspendingDepth_ == 0 ? FiberAccess::currentFiber(carrier) : nullptr;
}

bool Suspension::allowed() noexcept {
    const Carrier* carrier = Carrier::current();
    return carrier == nullptr || fiberThatMayWait(*carrier) != nullptr;
}

bool Suspension::isAway() noexcept {
    const Carrier* const carrier = Carrier::current();
    return carrier != nullptr && carrier->currentFiber_ != nullptr && carrier->currentFiber_->homeCarrier != carrier;
}

void Suspension::goHome(const char* call) {
    if (!isAway()) return;
    if (!allowed()) throw BlockingOperationException(call);
    FiberAccess::goHome(*Carrier::current());
}

Suspension::~Suspension() {
    if (parked_) return;
    if (!task_->park.abort(epoch_)) task_->park.finish();
}

// True if the fiber has been cancelled or the carrier is stopping; the wait has then been claimed. park() switches the
// fiber out in any case, so that a fiber that waits again and again does not keep the others from running.
[[gnu::always_inline]] inline bool Suspension::refuse(const Carrier& carrier) const noexcept {
    if (carrier.core_.stopping()) {
        key(WakeReason::shutdown).wake();
    } else if (static_cast<detail::Fiber&>(*task_).cancellationDue()) {
        key(WakeReason::cancelled).wake();
    } else {
        return false;
    }
    return true;
}

// Suspends until a key or the deadline ends the wait; a wait that is `refused` has been claimed.
[[gnu::always_inline]] inline WakeReason Suspension::parkUntil(Carrier& carrier, bool refused, Deadline deadline,
                                                               WakeReason atDeadline,
                                                               detail::LazyTimer* timer) const noexcept {
    auto& fiber = static_cast<detail::Fiber&>(*task_);
    if (refused || !fiber.park.isClaimed()) {
        const bool timed = deadline != never && !refused;
        fiber.resumesAnywhere = anywhere_ && !timed;  // a timer must be disarmed where it was armed
        if (!timed) {
            switchOut(carrier);
        } else if (timer == nullptr) {
            switchOutTimed(carrier, deadline, atDeadline);
        } else {
            switchOutTimed(carrier, deadline, atDeadline, *timer);
        }
    }
    return static_cast<WakeReason>(fiber.park.finish());
}

[[gnu::noinline]] void Suspension::switchOutTimed(Carrier& carrier, Deadline deadline,
                                                  WakeReason atDeadline) const noexcept {
    WaitTimer timer(key(atDeadline));
    carrier.timers_.arm(timer, deadline);
    switchOut(carrier);
    if (timer.armed()) carrier.timers_.disarm(timer);
}

inline void Suspension::switchOutTimed(Carrier& carrier, Deadline deadline, WakeReason atDeadline,
                                       detail::LazyTimer& timer) const noexcept {
    timer.begin(carrier.timers_, key(atDeadline), deadline);
    switchOut(carrier);
    timer.end();
}

// The deadline of the fiber's scopes comes before that of this wait.
[[gnu::noinline]] WakeReason Suspension::parkInScope(Carrier& carrier, Deadline deadline,
                                                     detail::LazyTimer* timer) const noexcept {
    const auto& fiber = static_cast<const detail::Fiber&>(*task_);
    const bool refused = refuse(carrier);
    if (fiber.interrupts.holdsOffCancellation())
        return parkUntil(carrier, refused, deadline, WakeReason::timeout, timer);
    const Deadline end = fiber.scopes.deadline;
    const bool passed = Clock::current().now() >= end;
    if (passed) key(WakeReason::cancelled).wake();
    return parkUntil(carrier, refused || passed, end, WakeReason::cancelled, timer);
}

[[gnu::always_inline]] inline WakeReason Suspension::parkHere(Deadline deadline, detail::LazyTimer* timer) noexcept {
    parked_ = true;
    Carrier* carrier = Carrier::current();
    if (carrier == nullptr) return detail::threadTask().park(epoch_, deadline);
    if (static_cast<detail::Fiber&>(*task_).scopes.deadline < deadline) [[unlikely]]
        return parkInScope(*carrier, deadline, timer);
    return parkUntil(*carrier, refuse(*carrier), deadline, WakeReason::timeout, timer);
}

WakeReason Suspension::park(Deadline deadline) noexcept {
    return parkHere(deadline, nullptr);
}

WakeReason Suspension::park(Deadline deadline, detail::LazyTimer& timer) noexcept {
    return parkHere(deadline, &timer);
}

WakeReason Suspension::parkUninterruptibly() noexcept {
    return parkThrough(false);
}

WakeReason Suspension::continueUninterruptibly() noexcept {
    return parkThrough(true);
}

[[gnu::always_inline]] inline WakeReason Suspension::parkThrough(bool continues) noexcept {
    parked_ = true;
    Carrier* carrier = Carrier::current();
    if (carrier == nullptr) return detail::threadTask().parkUninterruptibly(epoch_);

    auto& fiber = static_cast<detail::Fiber&>(*task_);
    if (!fiber.park.isClaimed()) {
        fiber.resumesAnywhere = anywhere_;
        fiber.interrupts.beginUninterruptible();  // before the commit: see InterruptMask
        // False if the previous wait was over before it switched the fiber out.
        const bool began = continues && fiber.parkEpoch + 1 == epoch_;
        began ? switchOutAgain(*carrier) : switchOut(*carrier);
        fiber.interrupts.endUninterruptible();
    }
    return static_cast<WakeReason>(fiber.park.finish());
}

inline void Suspension::switchOut(Carrier& carrier) const noexcept {
    static_cast<detail::Fiber&>(*task_).runBeforeWait = carrier.fiberRunClock_.began();
    switchOutAgain(carrier);
}

inline void Suspension::switchOutAgain(Carrier& carrier) const noexcept {
    auto& fiber = static_cast<detail::Fiber&>(*task_);
    fiber.parkEpoch = epoch_;
    carrier.switchOut(fiber, detail::SwitchReason::parking);
}

}  // namespace weft
