// MessageToByteEncoder<T>: turns the messages that are exactly a T into bytes and lets all others pass.
#pragma once

#include <cstddef>
#include <exception>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

namespace weft {

namespace detail {
// Fails a write whose message could not be encoded: with an EncoderException, which is thrown when there is no promise.
void failEncoding(ChannelHandlerContext& ctx, const ChannelPromise& promise, std::exception_ptr cause);
}  // namespace detail

// A T becomes one Buffer, which carries the write's promise; it may be empty. What encode() throws fails the write with
// an EncoderException (E-2); without a promise the exception comes to exceptionCaught() of the encoder, and closes the
// channel when nobody takes it (E-3). Nothing is written.
template <class T>
class MessageToByteEncoder : public ChannelOutboundHandler {
  public:
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) final {
        if (!message.is<T>()) return ctx.write(std::move(message), std::move(promise));
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
    // Appends the bytes of `message` to `out`, which is empty, or replaces it.
    virtual void encode(ChannelHandlerContext& ctx, T& message, Buffer& out) = 0;
    // How many bytes to make room for at first.
    virtual std::size_t expectedBytes(const T&) const { return 256; }
};

}  // namespace weft
