// MessageToMessageCodec<In, Out>: turns messages of one type into messages of another, in both directions.
#pragma once

#include <exception>
#include <utility>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/codec_failures.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft {

// decode() gets each inbound message whose type is exactly `In`, encode() each outbound one whose type is exactly
// `Out`; messages of other types pass. The message is released after the call unless it was moved from. Context: the
// loop; neither may block.
//
// decode() calls ctx.fireChannelRead() once for each message that it makes, or not at all. An exception goes to
// exceptionCaught() as DecoderException (E-1). encode() returns the one message that is written instead; it carries the
// promise of the original write, which can no longer be cancelled (W-2). An exception fails the write with
// EncoderException, and nothing is written (E-2, E-3).
template <class In, class Out>
class MessageToMessageCodec : public ChannelDuplexHandler {
  public:
    using InboundIn = Messages<In>;

    void channelRead(ChannelHandlerContext& ctx, Message&& message) final {
        if (!message.is<In>()) return ctx.fireChannelRead(std::move(message));
        try {
            decode(ctx, message.take<In>());
        } catch (...) {
            std::rethrow_exception(detail::asDecoderException(ctx));
        }
    }
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) final {
        if (!message.is<Out>()) return ctx.write(std::move(message), std::move(promise));
        if (!promise.setUncancellable()) return;
        Message encoded;
        try {
            encoded = encode(ctx, message.take<Out>());
        } catch (...) {
            return detail::failEncoding(ctx, promise, std::current_exception());
        }
        ctx.write(std::move(encoded), std::move(promise));
    }

  protected:
    virtual void decode(ChannelHandlerContext& ctx, In message) = 0;
    virtual Message encode(ChannelHandlerContext& ctx, Out message) = 0;
};

}  // namespace weft
