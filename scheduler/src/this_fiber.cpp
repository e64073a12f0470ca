#include <weft/scheduler/this_fiber.hpp>

#include <thread>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/detail/cancellation_due.hpp>
#include <weft/scheduler/detail/current_home.hpp>
#include <weft/scheduler/suspension.hpp>

#include "fiber_access.hpp"

namespace weft::thisFiber {

bool isFiber() noexcept {
    return FiberAccess::currentFiber() != nullptr;
}

void yield() {
    Carrier* carrier = Carrier::current();
    if (carrier == nullptr) return std::this_thread::yield();
    if (!Suspension::allowed()) throw BlockingOperationException("thisFiber::yield");
    FiberAccess::yield(*carrier, Resumes::anywhere);
}

// Resumes at home, because its callers (the read and accept loops, for example) use the home carrier's state
// afterwards.
void yieldIfDue() noexcept {
    Carrier* carrier = Carrier::current();
    if (carrier != nullptr && FiberAccess::yieldIsDue(*carrier)) FiberAccess::yield(*carrier, Resumes::atHome);
}

void sleepUntil(Deadline deadline, ErrorCode& error) {
    Suspension wait("thisFiber::sleepUntil");
    error = wait.park(deadline) == WakeReason::timeout ? ErrorCode() : operationAborted();
}

void sleepUntil(Deadline deadline) {
    ErrorCode error;
    sleepUntil(deadline, error);
    if (error) throw SystemError(error, "thisFiber::sleepUntil");
}

void sleepFor(Duration time, ErrorCode& error) {
    sleepUntil(deadlineAfter(time), error);
}
void sleepFor(Duration time) {
    sleepUntil(deadlineAfter(time));
}

bool cancelRequested() noexcept {
    const detail::CurrentTask here = detail::currentTask();
    if (here.task.state.isInterruptRequested()) return true;
    return here.scopes.deadline != never && Clock::current().now() >= here.scopes.deadline;
}

Deadline deadline() noexcept {
    return detail::currentTask().scopes.deadline;
}

std::uint64_t id() noexcept {
    detail::Fiber* fiber = FiberAccess::currentFiber();
    return fiber ? fiber->id : 0;
}

std::string name() {
    detail::Fiber* fiber = FiberAccess::currentFiber();
    return fiber ? std::string(detail::FiberName(*fiber)) : std::string();
}

Carrier* carrier() noexcept {
    detail::Fiber* fiber = FiberAccess::currentFiber();
    return fiber ? fiber->homeCarrier : nullptr;
}

Carrier* runningCarrier() noexcept {
    return FiberAccess::currentFiber() ? Carrier::current() : nullptr;
}

void goHome() {
    Suspension::goHome("thisFiber::goHome");
}

}  // namespace weft::thisFiber

namespace weft {

bool detail::cancellationDue() noexcept {
    return thisFiber::cancelRequested() && !currentTask().interrupts.holdsOffCancellation();
}

bool detail::comeHome(const Carrier& home) noexcept {
    if (thisFiber::carrier() != &home || !Suspension::allowed()) return false;
    thisFiber::goHome();
    return true;
}

}  // namespace weft
