#include <weft/scheduler/deadline_scope.hpp>

#include <algorithm>
#include <weft/scheduler/detail/is_abort.hpp>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/task.hpp>

#include "fiber_access.hpp"

namespace weft {

DeadlineScope::DeadlineScope(Deadline deadline) noexcept
    : scopes_(detail::currentTask().scopes), outer_(scopes_.deadline), deadline_(std::min(deadline, outer_)) {
    scopes_.deadline = deadline_;
}

DeadlineScope::~DeadlineScope() {
    WEFT_ASSERT(scopes_.deadline == deadline_, "a DeadlineScope ends before a scope that was begun in it");
    scopes_.deadline = outer_;
}

bool DeadlineScope::expired() const noexcept {
    return deadline_ != never && Clock::current().now() >= deadline_;
}

bool DeadlineScope::timedOut() const noexcept {
    if (deadline_ >= outer_ || !expired()) return false;
    const Carrier* const carrier = Carrier::current();
    return !detail::currentTask().task.state.isInterruptRequested() &&
           !(carrier != nullptr && FiberAccess::stopping(*carrier));
}

void detail::rethrowTimeout(const DeadlineScope& scope) {
    if (isAbort(std::current_exception()) && scope.timedOut()) throw SystemError(weft::timedOut(), "weft::timeout");
    throw;
}

}  // namespace weft
