// WriteTimeoutHandler: closes a connection when a write takes too long, because the peer does not read.
#pragma once

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/scheduled_task.hpp>

namespace weft {

// When a write, flushed or not, has not completed `timeout` after it passed here, fires exceptionCaught() with a
// WriteTimeoutException for the handlers after it, then closes the channel. Once. Gives each write a promise; uses one
// timer for all writes.
class WriteTimeoutHandler final : public ChannelDuplexHandler {
  public:
    // `timeout`: 0 (off) or more; throws std::invalid_argument otherwise.
    explicit WriteTimeoutHandler(Duration timeout);

    void channelUnregistered(ChannelHandlerContext& ctx) override;
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override;

  private:
    struct Pending {
        TimePoint deadline;
        ChannelFuture write;
    };

    void arm(ChannelHandlerContext& ctx);
    void look(ChannelHandlerContext& ctx);
    void forgetDone() noexcept;

    const Duration timeout_;
    detail::Ring<Pending> pending_;  // in the order of their deadlines
    ScheduledTask timer_;
    bool closing_ = false;
};

}  // namespace weft
