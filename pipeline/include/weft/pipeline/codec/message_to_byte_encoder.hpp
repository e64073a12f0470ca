// MessageToByteEncoder<T>: encodes the messages whose type is exactly T into bytes and passes on all others.
#pragma once

#include <cstddef>
#include <exception>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/codec_failures.hpp>

namespace weft {

// A T becomes one Buffer, which may be empty and carries the write's promise. From encode() on, the write cannot be
// cancelled (W-2): the encoder may keep state between messages. An exception from encode() fails the
// write with an EncoderException (E-2). With the void promise that goes to exceptionCaught() of the encoder, and closes
// the channel when no handler takes it (E-3). In both cases nothing is written.
template <class T>
class MessageToByteEncoder : public ChannelOutboundHandler {
  public:
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) final {
        if (!message.is<T>()) return ctx.write(std::move(message), std::move(promise));
        if (!promise.setUncancellable()) return;
        Buffer bytes;
        try {
            bytes = Buffer::allocate(expectedBytes(message.get<T>()));
            encode(ctx, message.get<T>(), bytes);
        } catch (...) {
            return detail::failEncoding(ctx, promise, std::current_exception());
        }
        message.reset();
        ctx.write(Message(std::move(bytes)), std::move(promise));
    }

  protected:
    // Appends the bytes of `message` to `out`, which is empty, or assigns another Buffer to it.
    virtual void encode(ChannelHandlerContext& ctx, T& message, Buffer& out) = 0;
    // The initial capacity of `out`, in bytes.
    virtual std::size_t expectedBytes(const T&) const { return 256; }
};

}  // namespace weft
