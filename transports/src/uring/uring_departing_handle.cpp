#include "uring/uring_departing_handle.hpp"

#include <utility>

namespace weft {

void UringDepartingHandle::leaveByDeregistering(ChannelPromise promise) {
    if (departure_ == Departure::closed) {
        promise.trySuccess();
        return;
    }
    leave(Departure::deregistering, std::move(promise));
}

void UringDepartingHandle::leaveByClosing(ChannelPromise promise) {
    if (!isOpen()) {
        promise.trySuccess();
        return;
    }
    leave(Departure::closing, std::move(promise));
}

void UringDepartingHandle::leave(Departure how, ChannelPromise promise) {
    std::exchange(departed_, std::move(promise)).tryFailure(operationAborted());
    departure_ = how;
    cancelAll();
    operationEnded();
}

void UringDepartingHandle::operationEnded() {
    if (!leaving() || departure_ == Departure::closed || inFlight() != 0) return;
    if (departure_ == Departure::closing) {
        lastCalls();
        closeHandle();
        departure_ = Departure::closed;
    } else {
        detach();
        departure_ = Departure::none;
    }
    std::exchange(departed_, {}).trySuccess();
}

}  // namespace weft
