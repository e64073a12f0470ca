#include <weft/scheduler/join_set.hpp>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft::detail {

JoinSetBase::JoinSetBase(std::exception_ptr (*errorOf)(const Fiber&)) : errorOf_(errorOf) {
    if (!Suspension::allowed()) throw BlockingOperationException("JoinSet");
}

JoinSetBase::~JoinSetBase() {
    cancelAndDrop();
}

Fiber* JoinSetBase::next() {
    if (const ErrorCode error = children_.waitForOne(never, "JoinSet::joinNext")) {
        throw SystemError(error, "JoinSet::joinNext");
    }
    return children_.takeEnded();
}

void JoinSetBase::cancelAndDrop() noexcept {
    if (running() != 0) {
        cancelAll();
        WEFT_ASSERT(Suspension::allowed(), "a JoinSet with running children is destroyed where nothing may block");
        children_.waitUninterruptibly("JoinSet::shutdown");
    }
    while (Fiber* const ended = children_.takeEnded()) {
        reportDiscarded("JoinSet", errorOf_(*ended));
        ended->operations->dropResult(*ended);
        releaseFiber(*ended);
    }
}

}  // namespace weft::detail
