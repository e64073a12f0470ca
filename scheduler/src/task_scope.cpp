#include <weft/scheduler/task_scope.hpp>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/is_abort.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "describe_error.hpp"

namespace weft {

TaskScope::TaskScope(Policy policy) : policy_(policy), exceptions_(std::uncaught_exceptions()) {
    if (!Suspension::allowed()) throw BlockingOperationException("TaskScope");
}

TaskScope::~TaskScope() {
    if (running() != 0) {
        cancel();
        WEFT_ASSERT(Suspension::allowed(), "a TaskScope with running children is destroyed where nothing may block");
        children_.waitUninterruptibly("~TaskScope");
    }
    if (!error_ || succeeded_) return;
    // The exception that unwinds the scope may be this error, or an unrelated one that hides it.
    const bool unwinding = std::uncaught_exceptions() > exceptions_;
    log(unwinding ? LogLevel::warning : LogLevel::error,
        {"a TaskScope ended without join(); one of its children failed: ", detail::describe(error_)});
}

Carrier& detail::carrierForChild() {
    Carrier* here = thisFiber::carrier();
    return here != nullptr ? *here : CarrierGroup::instance().next();
}

void detail::reportDiscarded(const char* call, const std::exception_ptr& error) noexcept {
    if (error && !isAbort(error)) log(LogLevel::warning, {call, ": an exception was discarded: ", describe(error)});
}

void TaskScope::cancel() noexcept {
    children_.cancel();
}

// Context: the child.
std::exception_ptr TaskScope::childFailed(std::exception_ptr error) noexcept {
    const bool interrupted = children_.interrupted();
    if (detail::isAbort(error) && (interrupted || thisFiber::cancelRequested())) {
        std::lock_guard held(endLock_);
        interrupted_ |= interrupted;
        if (policy_ == Policy::allOrThrow && error_) return error_;  // which has cancelled the child
    } else if (policy_ != Policy::collect) {
        noteFailure(error);
        if (policy_ == Policy::allOrThrow) cancel();
    }
    return error;
}

// Context: the child.
void TaskScope::noteFailure(const std::exception_ptr& error) noexcept {
    bool first;
    {
        std::lock_guard held(endLock_);
        first = !error_;
        if (first) error_ = error;
    }
    if (first || policy_ == Policy::firstSuccess) return;
    log(LogLevel::warning,
        {"fiber '", thisFiber::name(), "' failed after another child of its TaskScope: ", detail::describe(error)});
}

// Context: the child.
void TaskScope::childSucceeded() noexcept {
    {
        std::lock_guard held(endLock_);
        succeeded_ = true;
    }
    cancel();
}

void TaskScope::rethrowFirstError() {
    std::exception_ptr error = std::exchange(error_, nullptr);
    if (error && !succeeded_) std::rethrow_exception(std::move(error));
}

// Waits for the children. timedOut(): some still run. Any other error: the wait was ended, and so were they.
ErrorCode TaskScope::await(Deadline deadline) {
    const ErrorCode error = children_.wait(deadline, "TaskScope::join");
    if (error && error != timedOut()) {
        cancel();
        children_.waitUninterruptibly("TaskScope::join");
    }
    return error;
}

void TaskScope::join() {
    static_cast<void>(joinUntil(never));
}

bool TaskScope::joinUntil(Deadline deadline) {
    ErrorCode error = await(deadline);
    if (error == timedOut()) return false;
    const bool interrupted = std::exchange(interrupted_, false);
    rethrowFirstError();
    if (interrupted && !succeeded_) error = operationAborted();
    if (error) throw SystemError(error, "TaskScope::join");
    return true;
}

}  // namespace weft
