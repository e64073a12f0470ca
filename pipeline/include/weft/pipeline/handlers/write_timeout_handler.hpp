// WriteTimeoutHandler: closes a connection whose peer does not take what is written.
#pragma once

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/handler_timer.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft {

// When a write has not completed `timeout` after it passed here, flushed or not: exceptionCaught() with a
// WriteTimeoutException for the handlers behind it, then close(). Once. Gives each write a promise; one timer for all.
class WriteTimeoutHandler final : public ChannelDuplexHandler {
  public:
    // `timeout`: 0 (off) or more; throws std::invalid_argument otherwise.
    explicit WriteTimeoutHandler(Duration timeout);

    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelUnregistered(ChannelHandlerContext& ctx) override;
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override;

  private:
    struct Pending {
        TimePoint deadline;
        ChannelFuture write;
    };

    void watch(ChannelHandlerContext& ctx, ChannelFuture write);
    void arm(ChannelHandlerContext& ctx);
    void look(ChannelHandlerContext& ctx);
    void forgetDone() noexcept;
    void stop() noexcept;

    const Duration timeout_;
    detail::Ring<Pending> pending_;  // in the order of their deadlines
    detail::HandlerTimer timer_;
    bool closing_ = false;
};

}  // namespace weft
