// EncoderCalls: the usual cases of output(), finishOutput() and flush() of a context, inlined for the library's
// codecs, whose usual place is directly after the head, or after handlers that see no writes, such as an SslHandler.
#pragma once

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

namespace weft::detail {

class EncoderCalls {
  public:
    // True if no other handler sees the bytes, and the channel takes them.
    static bool ownsOutput(const ChannelHandlerContext& ctx) noexcept {
        return isFirst(ctx) && ctx.channel_.takesOutput();
    }
    // True if, besides, `bytes` more need no finishOutput(): they change no writability, so that no handler is called.
    static bool ownsRoom(const ChannelHandlerContext& ctx, std::size_t bytes) noexcept {
        return ownsOutput(ctx) && ctx.channel_.hasRoomFor(bytes);
    }
    static ChannelOutput& output(ChannelHandlerContext& ctx) {
        return ownsOutput(ctx) ? ownOutput(ctx.channel_) : ctx.output();
    }
    static ChannelOutput& ownOutput(Channel& channel) noexcept { return channel.output_; }
    // Flushes bytes of ownOutput() that leave at the flush point anyway. False: nothing has been done.
    static bool tryFlush(ChannelHandlerContext& ctx) noexcept { return isFirst(ctx) && ctx.channel_.markFlush(); }

  private:
    static bool isFirst(const ChannelHandlerContext& ctx) noexcept {
        const ChannelPipeline& pipeline = ctx.channel_.pipeline_;
        return pipeline.isHead(*ctx.previous_) || pipeline.isHead(ctx.nextOutbound(Event::write | Event::flush));
    }
};

}  // namespace weft::detail

namespace weft {

// The most common flush: of bytes that go to the sink at the next flush point anyway. False: nothing has been done.
inline bool Channel::markFlush() noexcept {
    if (!output_.isShared() || !isWritable() || config_.flushImmediately) return false;
    output_.flushPlain();
    return true;
}

}  // namespace weft
