// Carrier: what a fiber does on its own stack when it begins, leaves and ends. docs/adr/0035.
#include <weft/scheduler/carrier.hpp>

#include <utility>

#include "carrier_slice.hpp"
#include "context_switch.hpp"
#include "fiber_access.hpp"
#include "fork_mark.hpp"
#include "stack_overflow.hpp"

namespace weft {

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

// The fiber that runs next, which may be the same one; null: the run of fibers is over.
[[gnu::always_inline]] inline detail::Fiber* Carrier::successor() noexcept {
    if (fiberRunIsOver()) [[unlikely]]
        return nullptr;
    bool moved = false;
    Task* const task = nextTask(moved);
    if (task == nullptr) return nullptr;
    prefetchNext();
    auto& next = static_cast<detail::Fiber&>(*task);
    beginSlice(next);
    return &next;
}

// The first thing that a fiber does in each slice, on the carrier that runs it: no code of the fiber that left for it
// runs any more, so its stack may be reused.
[[gnu::always_inline]] inline void Carrier::arrive() noexcept {
    if (detail::Fiber* const left = std::exchange(leftForNext_, nullptr)) detail::retireFiber(*left);
}

// While its carrier switches directly, a fiber commits its own wait, or makes itself runnable, before its context is
// saved [T4], and switches to the next one itself. Otherwise the main loop does both for it.
void Carrier::switchOut(detail::Fiber& fiber, detail::SwitchReason reason) noexcept {
    fiber.switchReason = reason;
    WEFT_PROBE2(fiber_left, index_, static_cast<int>(reason));
    if (switchesDirectly_) [[likely]] {
        if (reason == detail::SwitchReason::parking) {
            commitWait(fiber);
        } else {
            makeRunnable(fiber);
        }
        detail::Fiber* const next = successor();
        if (next == &fiber) return;
        if (next != nullptr) {
            detail::switchToNext(fiber, *next, *threadExceptions_);
            return arrive();
        }
        fiber.switchReason = detail::SwitchReason::settled;
    }
    detail::switchToThread(fiber, threadContext_, *threadExceptions_);
    FiberAccess::arrive(fiber);
}

void Carrier::complete(detail::Fiber& fiber) noexcept {
    if (fiber.stack.overflowed()) [[unlikely]]
        detail::reportOverflowAndAbort(fiber);
    live_.remove(fiber);
    counters_.finished.add();
    detail::completeFiber(fiber);
}

// The function of the fiber, which is on its own stack, has returned. Returns the fiber that runs next. Null: the main
// loop continues; it also completes the fiber if a result's destructor or a log sink may have to run, code of the
// program for which the fiber's stack need not be large enough.
detail::Fiber* Carrier::finish(detail::Fiber& fiber) noexcept {
    fiber.switchReason = detail::SwitchReason::ended;
    WEFT_PROBE2(fiber_left, index_, static_cast<int>(detail::SwitchReason::ended));
    if (!switchesDirectly_ || !(fiber.dropsNothing || fiber.joinedAtHome)) return nullptr;
    currentFiber_ = nullptr;
    complete(fiber);
    fiber.switchReason = detail::SwitchReason::completed;
    detail::Fiber* const next = successor();
    if (next != nullptr) leftForNext_ = &fiber;
    return next;
}

void FiberAccess::goHome(Carrier& carrier) noexcept {
    carrier.currentFiber_->resumesAnywhere = false;
    carrier.switchOut(*carrier.currentFiber_, detail::SwitchReason::goingHome);
}

void FiberAccess::yield(Carrier& carrier, Resumes where) noexcept {
    carrier.currentFiber_->resumesAnywhere = where == Resumes::anywhere;
    carrier.switchOut(*carrier.currentFiber_, detail::SwitchReason::yielded);
}

// The fiber may have moved to another carrier meanwhile.
[[gnu::always_inline]] inline void FiberAccess::arrive(const detail::Fiber& fiber) noexcept {
    fiber.running.load(std::memory_order_relaxed)->arrive();
}

[[gnu::always_inline]] inline void FiberAccess::leave(detail::Fiber& fiber) noexcept {
    Carrier* const running = fiber.running.load(std::memory_order_relaxed);
    if (running == nullptr) [[unlikely]]
        detail::endOfForkedFiber();
    Carrier& carrier = *running;
    if (detail::Fiber* const next = carrier.finish(fiber)) {
        detail::leaveForNext(fiber, *next, *carrier.threadExceptions_);
    } else {
        detail::leaveForThread(fiber, carrier.threadContext_, *carrier.threadExceptions_);
    }
}

// Calls nothing that does not return: an unanswered call would cost the carrier its predictions of returns.
void detail::fiberMain(FiberContext* from, FiberContext* self) noexcept {
    auto& fiber = static_cast<Fiber&>(*self);
    arrive(fiber, *from);
    FiberAccess::arrive(fiber);
    fiber.operations->run(fiber);
    FiberAccess::leave(fiber);
}

}  // namespace weft
