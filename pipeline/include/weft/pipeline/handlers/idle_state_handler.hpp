// IdleStateHandler: fires an event for the handlers after it when a connection has been idle for some time.
#pragma once

#include <cstdint>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/scheduled_task.hpp>

namespace weft {

enum class IdleState : unsigned char {
    reader,  // nothing was read
    writer,  // no write completed
    all,     // neither
};

// The user event. `first`: the first of its kind since the last read (reader, all) or completed write (writer, all).
struct IdleStateEvent {
    IdleState state;
    bool first;
};

struct IdleStateOptions {
    Duration reader = Duration::zero();  // 0: not watched
    Duration writer = Duration::zero();
    Duration all = Duration::zero();
    bool observeOutput = false;  // bytes that left since the last check are activity, too, without a completed write
};

// While the channel is active, fires an IdleStateEvent when one of the periods passes without activity, and again after
// each further period. The reader is active from channelRead to channelReadComplete; the writer is active when a write
// completes, not when it begins. Uses the loop's clock. While writes are watched, each write gets a promise.
class IdleStateHandler : public ChannelDuplexHandler {
  public:
    using InboundOut = Messages<>;

    // Throws std::invalid_argument for a negative period.
    explicit IdleStateHandler(IdleStateOptions options);

    // An override in a subclass must call the base's.
    void handlerAdded(ChannelHandlerContext& ctx) override;
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
        ScheduledTask timer{};
        bool first = true;
        std::uint64_t seenOutput = 0;  // bytes that had left at the last check
    };

    void start(ChannelHandlerContext& ctx);
    void stop() noexcept;
    void arm(ChannelHandlerContext& ctx, Watch& watch, Duration delay);
    void look(ChannelHandlerContext& ctx, Watch& watch);
    TimePoint lastActivity(IdleState state) const noexcept;

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
