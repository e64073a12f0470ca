// HandlerTimer: a timer of one handler in one pipeline. It keeps the handler alive while it fires, and never fires
// after the handler has been destroyed.
#pragma once

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/scheduled_task.hpp>

namespace weft::detail {

// A member of the handler. The handler must call cancel() in handlerRemoved() and channelUnregistered(): a timer that
// is set holds a reference to the channel. Context: the loop.
class HandlerTimer {
  public:
    HandlerTimer() = default;
    HandlerTimer(const HandlerTimer&) = delete;
    HandlerTimer& operator=(const HandlerTimer&) = delete;
    ~HandlerTimer() { cancel(); }

    // Calls fire() once, from a task of the loop, not before `delay` has passed. Cancels a timer that is set already.
    // An exception from fire() does not go to exceptionCaught(). Throws SystemError(operation_aborted) once the loop
    // has ended, and std::bad_alloc.
    template <class F>
    void set(ChannelHandlerContext& ctx, Duration delay, F fire) {
        cancel();
        task_ = ctx.loop().schedule(
            [this, channel = ChannelRef(ctx.channel()), fire = std::move(fire)]() mutable {
                const ChannelPin pin(*channel);
                task_ = {};
                fire();
            },
            delay);
    }
    void cancel() noexcept {
        task_.cancel();
        task_ = {};
    }
    // True when it is set and fire() has not begun.
    bool waiting() const noexcept { return task_ && !task_.done(); }

  private:
    ScheduledTask task_;
};

}  // namespace weft::detail
