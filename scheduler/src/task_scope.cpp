#include <weft/scheduler/task_scope.hpp>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "describe_error.hpp"

namespace weft {

TaskScope::TaskScope(OnError onError) : onError_(onError), exceptions_(std::uncaught_exceptions()) {
    if (!Suspension::allowed()) throw BlockingOperationException("TaskScope");
}

TaskScope::~TaskScope() {
    if (running() != 0) {
        cancel();
        WEFT_ASSERT(Suspension::allowed(), "a TaskScope with running children is destroyed where nothing may block");
        children_.waitUninterruptibly("~TaskScope");
    }
    if (!error_) return;
    // The exception that unwinds the scope is usually this error or its cause.
    const bool unwinding = std::uncaught_exceptions() > exceptions_;
    log(unwinding ? LogLevel::debug : LogLevel::error,
        {"a TaskScope ended without join(); one of its children failed: ", detail::describe(error_)});
}

Carrier& TaskScope::carrierHere() {
    Carrier* here = thisFiber::carrier();
    return here != nullptr ? *here : CarrierGroup::instance().next();
}

void TaskScope::cancel() noexcept {
    children_.cancelAll([](detail::Fiber& child) { child.state.addReference(); },
                        [](detail::Fiber& child) {
                            detail::cancelFiber(child);
                            if (child.state.release()) detail::freeFiber(child);
                        });
}

// Context: the child.
void TaskScope::childFailed(const std::exception_ptr& error) noexcept {
    if (thisFiber::cancelRequested() && detail::isAbort(error)) return;
    bool first;
    {
        std::lock_guard held(errorLock_);
        first = !error_;
        if (first) error_ = error;
    }
    if (!first) {
        log(LogLevel::warning,
            {"fiber '", thisFiber::name(), "' failed after another child of its TaskScope: ", detail::describe(error)});
    }
    if (onError_ == OnError::cancelOthers) cancel();
}

void TaskScope::rethrowFirstError() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void TaskScope::join() {
    static_cast<void>(joinUntil(never));
}

bool TaskScope::joinUntil(Deadline deadline) {
    const ErrorCode error = children_.wait(deadline, "TaskScope::join");
    if (error && error == timedOut()) return false;
    if (error) {
        cancel();
        children_.waitUninterruptibly("TaskScope::join");
    }
    rethrowFirstError();
    if (error) throw SystemError(error, "TaskScope::join");
    return true;
}

}  // namespace weft
