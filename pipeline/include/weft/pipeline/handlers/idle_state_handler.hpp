// IdleStateHandler: tells the handlers behind it that a connection has been silent for some time.
#pragma once

#include <cstdint>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/handler_timer.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft {

enum class IdleState : unsigned char {
    reader,  // nothing was read
    writer,  // no write completed
    all,     // neither
};

// The user event. `first`: the first of its kind since something was read (reader, all) or written (writer, all).
struct IdleStateEvent {
    IdleState state;
    bool first;
};

struct IdleStateOptions {
    Duration reader = Duration::zero();  // 0 or more; 0: not watched
    Duration writer = Duration::zero();
    Duration all = Duration::zero();
    bool observeOutput = false;  // bytes that left since the last look count as activity, though no write completed
};

// Fires an IdleStateEvent each time one of the periods passes without activity, and again after each further one, while
// the channel is active. Activity is the end of a read cycle (channelRead until channelReadComplete counts as reading),
// and for the other direction a write that completed, not one that was begun. Time is the loop's clock. While writes
// are watched, each gets a promise.
class IdleStateHandler : public ChannelDuplexHandler {
  public:
    using InboundOut = Messages<>;

    // Throws std::invalid_argument for a negative period.
    explicit IdleStateHandler(IdleStateOptions options);

    // A subclass that overrides one of these calls it.
    void handlerAdded(ChannelHandlerContext& ctx) override;
    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelRegistered(ChannelHandlerContext& ctx) override;
    void channelUnregistered(ChannelHandlerContext& ctx) override;
    void channelActive(ChannelHandlerContext& ctx) override;
    void channelInactive(ChannelHandlerContext& ctx) override;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;
    void channelReadComplete(ChannelHandlerContext& ctx) override;
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override;

  protected:
    // Fires the event; override it to do something else.
    virtual void channelIdle(ChannelHandlerContext& ctx, IdleStateEvent event);

  private:
    struct Watch {
        IdleState state;
        Duration period;
        detail::HandlerTimer timer{};
        bool first = true;
        std::uint64_t seenOutput = 0;  // what had left at the last look
    };

    void start(ChannelHandlerContext& ctx);
    void stop() noexcept;
    void arm(ChannelHandlerContext& ctx, Watch& watch, Duration delay);
    void look(ChannelHandlerContext& ctx, Watch& watch);
    TimePoint lastActivity(IdleState state) const noexcept;
    bool outputMoved(ChannelHandlerContext& ctx, Watch& watch) const;
    void wrote(ChannelHandlerContext& ctx);

    const bool observeOutput_;
    bool running_ = false;
    bool reading_ = false;  // inside a read cycle
    TimePoint lastRead_;
    TimePoint lastWrite_;
    Watch reader_;
    Watch writer_;
    Watch all_;
};

}  // namespace weft
