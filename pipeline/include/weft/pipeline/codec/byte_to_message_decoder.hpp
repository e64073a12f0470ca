// ByteToMessageDecoder: collects the bytes of a connection and cuts them into messages; the base of all framing. One
// per channel: it keeps what does not make a message yet.
#pragma once

#include <cstddef>
#include <exception>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft {

// Where decode() puts what it has made.
class DecoderOutput {
  public:
    void add(Message&& message) { messages_.push(std::move(message)); }
    bool empty() const noexcept { return messages_.empty(); }
    std::size_t size() const noexcept { return messages_.size(); }

  private:
    friend class ByteToMessageDecoder;
    detail::Ring<Message> messages_;
};

// Derive and override decode(). Buffers go in; any other message passes. A subclass may override outbound methods too,
// and is then a codec. What it overrides of the methods below that are not final must call the one here.
// decode() is called while bytes are left and it consumed some or made something; messages leave before it is called
// again (D-1, D-2). An inbound event that arrives meanwhile waits until all of this has been done (D-4). When the
// decoder is removed, bytes that are left go on as a Buffer (D-3). At the end of input, decodeLast() has its turn
// before the event goes on (D-5). What decode() throws comes to exceptionCaught() as a DecoderException, after the
// messages made so far; decode() is called again when more input arrives. (D-6) With AUTO_READ off it asks for more by
// itself when a read cycle made no message.
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
    // Takes bytes off the front of `in`, which is not empty, by consumed(), split() or takeFrame(), and adds the
    // messages that they make to `out`. To wait for more it does neither. Making a message of no bytes is an error.
    virtual void decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) = 0;
    // Once, when no more bytes will come; `in` may be empty. What it leaves is dropped.
    virtual void decodeLast(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out);
    virtual void handlerAdded0(ChannelHandlerContext&) {}
    virtual void handlerRemoved0(ChannelHandlerContext&) {}

    // The first `length` readable bytes of `in`, without copying; length <= in.readableBytes().
    static Buffer takeFrame(Buffer& in, std::size_t length) noexcept;
    // Reports a failure without ending decode(): to exceptionCaught() of this handler, hence of those behind it.
    void fail(ChannelHandlerContext& ctx, std::exception_ptr cause) noexcept;

  private:
    enum class Kind : unsigned char { read, readComplete, inputShutdown, inactive };
    struct Arrival {
        Kind kind = Kind::read;
        Message message;
    };

    void arrive(ChannelHandlerContext& ctx, Arrival arrival);
    void keep(Arrival&& arrival);
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

    ChannelHandlerContext* ctx_ = nullptr;  // null: in no pipeline, everything passes
    Buffer input_;                          // not decoded yet
    DecoderOutput output_;
    detail::Ring<Arrival> waiting_;  // came while busy_
    bool busy_ = false;              // one of our own frames is on the stack
    bool removing_ = false;          // removed while busy_
    bool received_ = false;          // bytes, in this read cycle
    bool emitted_ = false;           // messages, in this read cycle
    bool ended_ = false;             // decodeLast() has had its turn
};

}  // namespace weft
