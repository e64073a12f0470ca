// UringDepartingHandle: a channel's handle, which leaves its handler in two steps: its operations are cancelled, and
// once the kernel has ended all of them, it is detached or closed.
#pragma once

#include <weft/pipeline/channel_promise.hpp>

#include "uring/uring_handle.hpp"

namespace weft {

class UringDepartingHandle : public UringHandle {
  protected:
    using UringHandle::UringHandle;

    bool leaving() const noexcept { return departure_ != Departure::none; }
    bool closing() const noexcept { return departure_ == Departure::closing || departure_ == Departure::closed; }
    // Both start nothing more, and complete `promise` when the handle has left. A close overtakes a deregistration,
    // whose promise then fails.
    void leaveByDeregistering(ChannelPromise promise);
    void leaveByClosing(ChannelPromise promise);
    // Called after each operation.
    void operationEnded();

    // Cancels what is in flight.
    virtual void cancelAll() noexcept = 0;
    // Called before the descriptor is closed, with nothing in flight.
    virtual void lastCalls() {}

  private:
    enum class Departure : unsigned char { none, deregistering, closing, closed };

    void leave(Departure how, ChannelPromise promise);

    Departure departure_ = Departure::none;
    ChannelPromise departed_;
};

}  // namespace weft
