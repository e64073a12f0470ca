// EncoderCalls: output(), finishOutput() and flush() of a context, inlined for the codecs of this room, whose usual
// place is directly after the head.
#pragma once

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

namespace weft::detail {

class EncoderCalls {
  public:
    // The channel's output; null if another handler sees the bytes, or the channel takes none.
    static ChannelOutput* ownOutput(ChannelHandlerContext& ctx) noexcept {
        return isFirst(ctx) && ctx.channel_.takesOutput() ? &ctx.channel_.output_ : nullptr;
    }
    static ChannelOutput& output(ChannelHandlerContext& ctx) {
        ChannelOutput* const own = ownOutput(ctx);
        return own != nullptr ? *own : ctx.output();
    }
    // After bytes for ownOutput(), with the void promise.
    static void finishOwnOutput(ChannelHandlerContext& ctx) {
        if (ctx.channel_.isAboveHighMark()) [[unlikely]]
            ctx.finishOutput({});
    }
    static void flush(ChannelHandlerContext& ctx) {
        if (!isFirst(ctx) || !ctx.channel_.flushAtFlushPoint()) [[unlikely]]
            ctx.flush();
    }

  private:
    static bool isFirst(const ChannelHandlerContext& ctx) noexcept {
        return ctx.channel_.pipeline_.isHead(*ctx.previous_);
    }
};

}  // namespace weft::detail

namespace weft {

// Marks the output as flushed. False: that is not all, because the sink must have it now, or nothing is left to send.
inline bool Channel::flushAtFlushPoint() noexcept {
    output_.flush();
    const bool waits = state_.is(State::isRegistered | State::isActive, State::isClosed) && isWritable() &&
                       !loop_.inFlushPoint() && !config_.flushImmediately && !writes_.full() &&
                       output_.flushedBytes() - 1 < flushCap - 1;
    if (waits) loop_.requestFlushPoint(*this);
    return waits;
}

}  // namespace weft
