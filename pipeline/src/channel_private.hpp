// Small helpers that the channel's source files share.
#pragma once

#include <utility>

#include <weft/pipeline/channel.hpp>

#include "enters_loop.hpp"

namespace weft {

// Runs the operation at once on the loop, and otherwise in a task that keeps the channel alive (TH-2). Throws what
// EventLoop::execute() throws.
template <class F>
void Channel::runInLoop(F&& operation) {
    if (detail::entersLoop(loop_)) return operation();
    loop_.execute([self = ChannelRef(*this), operation = std::forward<F>(operation)]() mutable { operation(); });
}

namespace detail {

// Completes `promise` with the outcome of `done`.
inline void forward(const ChannelFuture& done, const ChannelPromise& promise) {
    if (done.success()) {
        promise.trySuccess();
    } else {
        promise.tryFailure(done.cause());
    }
}

}  // namespace detail
}  // namespace weft
