// ByteToMessageDecoder: collects the bytes of a connection and cuts them into messages; the base of all framing
// decoders. Each channel needs its own, which keeps the bytes of an incomplete message.
#pragma once

#include <cstddef>
#include <exception>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft {

// Receives the messages that decode() makes.
class DecoderOutput {
  public:
    void add(Message&& message) { messages_.push(std::move(message)); }
    bool empty() const noexcept { return messages_.empty(); }
    std::size_t size() const noexcept { return messages_.size(); }

  private:
    friend class ByteToMessageDecoder;
    detail::Ring<Message> messages_;
};

// Derive and override decode(). It decodes Buffers and passes on all other messages. A subclass that also overrides
// outbound methods is a codec. Overrides of the non-final methods below must call the base's.
// decode() is called again while bytes are left and its last call consumed some or made a message; the messages are
// passed on before each further call (D-1, D-2). Inbound events that arrive meanwhile wait until that is done (D-4).
// When the decoder is removed, it passes on the bytes that are left as a Buffer (D-3). At the end of input it calls
// decodeLast() before it passes the event on (D-5). An exception from decode() goes to exceptionCaught() as a
// DecoderException, after the messages made so far; the next input calls decode() again (D-6). With AUTO_READ off, it
// calls read() itself after a read cycle with input that made no message.
class ByteToMessageDecoder : public ChannelDuplexHandler {
  public:
    using InboundIn = Messages<Buffer>;

    // Throws std::logic_error when it is in a pipeline already.
    void handlerAdded(ChannelHandlerContext& ctx) final;
    void handlerRemoved(ChannelHandlerContext& ctx) final;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) final;
    void channelReadComplete(ChannelHandlerContext& ctx) override;
    void channelInactive(ChannelHandlerContext& ctx) override;
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override;

  protected:
    // Removes bytes from the front of `in`, which is not empty, with consumed(), split() or takeFrame(), and adds the
    // messages made of them to `out`. Does neither to wait for more. Adding a message without removing bytes is an
    // error (DecoderException).
    virtual void decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) = 0;
    // Called once, when no more bytes will come; `in` may be empty. Bytes that it leaves are dropped. By default it
    // calls decode() once, unless `in` is empty.
    virtual void decodeLast(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out);
    virtual void handlerAdded0(ChannelHandlerContext&) {}
    virtual void handlerRemoved0(ChannelHandlerContext&) {}

    // Removes the first `length` readable bytes of `in` and returns them, without copying; length <=
    // in.readableBytes().
    static Buffer takeFrame(Buffer& in, std::size_t length) noexcept;
    // Reports a failure without ending decode(): calls exceptionCaught() of this handler, which by default passes it
    // on.
    void fail(ChannelHandlerContext& ctx, std::exception_ptr cause) noexcept;

  private:
    enum class Kind : unsigned char { read, readComplete, inputShutdown, inactive };
    struct Arrival {
        Kind kind = Kind::read;
        Message message;
    };

    void arrive(ChannelHandlerContext& ctx, Arrival arrival);
    void handle(ChannelHandlerContext& ctx, Arrival& arrival);
    void pass(ChannelHandlerContext& ctx, Arrival& arrival);
    void takeBytes(ChannelHandlerContext& ctx, Buffer bytes);
    void endCycle(ChannelHandlerContext& ctx);
    void endInput(ChannelHandlerContext& ctx);
    void decodeAll(ChannelHandlerContext& ctx);
    template <class Work>
    void guarded(ChannelHandlerContext& ctx, Work work);
    void emit(ChannelHandlerContext& ctx);
    void discardRead();
    void leave(ChannelHandlerContext& ctx);

    ChannelHandlerContext* ctx_ = nullptr;  // null: in no pipeline; everything is passed on
    Buffer input_;                          // not decoded yet
    DecoderOutput output_;
    detail::Ring<Arrival> waiting_;  // events that arrived while busy_
    bool busy_ = false;              // one of our own frames is on the stack
    bool removing_ = false;          // removed while busy_
    bool received_ = false;          // bytes, in this read cycle
    bool emitted_ = false;           // messages, in this read cycle
    bool ended_ = false;             // decodeLast() has been called
};

}  // namespace weft
