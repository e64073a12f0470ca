// MessageToByteEncoder<T>: encodes the messages whose type is exactly T into bytes and passes on all others.
#pragma once

#include <exception>
#include <utility>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/detail/codec_failures.hpp>
#include <weft/pipeline/detail/encoded_write.hpp>

namespace weft {

// A T becomes bytes of the channel's output, or, if another handler sees writes after this one, one Buffer, which may
// be empty. The write's promise covers exactly these bytes. From encode() on, the write cannot be cancelled (W-2): the
// encoder may keep state between messages. An exception from encode() fails the write with an EncoderException (E-2).
// With the void promise that goes to exceptionCaught() of the encoder, and closes the channel when no handler takes it
// (E-3). In both cases nothing is written.
template <class T>
class MessageToByteEncoder : public ChannelOutboundHandler {
  public:
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) final {
        if (!message.is<T>()) return ctx.write(std::move(message), std::move(promise));
        if (!promise.setUncancellable()) return;
        try {
            detail::writeEncodedWhole(ctx, std::move(promise),
                                      [&](ChannelOutput& out) { return encode(ctx, message.get<T>(), out), true; });
        } catch (...) {
            // NOLINTNEXTLINE(bugprone-use-after-move): as before when writeEncodedWhole() throws
            detail::failEncoding(ctx, promise, std::current_exception());
        }
    }

  protected:
    // Appends the bytes of `message`, or none. Must not call other handlers, nor flush.
    virtual void encode(ChannelHandlerContext& ctx, T& message, ChannelOutput& out) = 0;
};

}  // namespace weft
