#include "uring/uring_fiber_handle.hpp"

namespace weft {

void UringFiberHandle::Call::complete(UringOperation& operation, int result) {
    Call& self = static_cast<Call&>(operation);
    self.result_ = result;
    if (self.waiter_) std::exchange(self.waiter_, {}).wake();
}

// Called after the operation's start. Returns once the kernel has completed the operation.
WakeReason UringFiberHandle::Call::await(Suspension& wait, const char* name, Deadline deadline) {
    waiter_ = wait.key();
    const WakeReason why = wait.park(deadline);
    waiter_ = {};
    if (!inFlight()) return why;
    handle_.cancel(*this);
    Suspension end(name);
    waiter_ = end.key();
    end.parkUninterruptibly();
    waiter_ = {};
    return why;
}

ssize_t UringFiberHandle::run(Call& call, const char* name, Deadline deadline) {
    if (ErrorCode error = tryAttach()) return -error.value();
    WakeReason why = WakeReason::resource;
    do {
        why = startAndAwait(call, name, deadline);
    } while (why == WakeReason::resource && isOpen() && isToBeDoneAgain(call.result()));
    finishClose();
    if (call.result() != -ECANCELED) return call.result();
    return why == WakeReason::timeout && isOpen() ? -waitTimedOut : -ECANCELED;
}

WakeReason UringFiberHandle::startAndAwait(Call& call, const char* name, Deadline deadline) {
    Suspension wait(name);
    if (detail::cancellationDue()) {
        call.result_ = -ECANCELED;
        return wait.park(deadline);  // refused
    }
    calls_.append(call.place_);
    start(call);
    const WakeReason why = call.await(wait, name, deadline);
    call.place_.unlink();
    return why;
}

// The descriptor must not close, and its number be reused, before the kernel has taken the entries that name it.
void UringFiberHandle::closeCalls() noexcept {
    if (std::exchange(closed_, true)) return;
    calls_.forEach([this](detail::ReadyLink& link) { cancel(static_cast<Call::Place&>(link).call); });
    finishClose();
}

}  // namespace weft
