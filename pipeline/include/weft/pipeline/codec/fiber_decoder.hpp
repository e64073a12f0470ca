// FiberDecoder: a decoder written as a loop of a fiber that blocks for its bytes.
#pragma once

#include <cstddef>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/codec/byte_reader.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft {

// Derive and override decode(). Each channel needs its own decoder, on a hosted loop
// (docs/adr/0023-decoder-that-blocks.md).
//     void decode(ByteReader& in, ChannelHandlerContext& ctx) override {
//         while (in.hasMore()) ctx.fireChannelRead(Message(in.read(in.read<std::uint32_t>())));
//     }
// decode() runs once, as a fiber of ctx.spawn(), from channelActive on. It may block in any way: on `in`, a backend, a
// write's future. The decoder takes Buffers and passes on other messages as they arrive. The end of a read cycle is
// passed on once decode() waits for more bytes, after the messages that it made. The end of the input takes effect when
// decode() returns, and does not end another wait of it: until then ALLOW_HALF_CLOSURE is on.
// When decode() returns, the decoder removes itself and passes on the bytes that it has not read (D-3). An exception
// from decode() goes to exceptionCaught() of this handler, nested in a DecoderException unless it is one; the decoder
// discards all bytes that follow. Closing the channel, or removing the decoder, ends its reads with operation_aborted;
// closing it cancels the fiber, too. While at least 64 KiB are unread, and the present read has what it needs, read()
// is withheld. With AUTO_READ off, decode() calls read() itself when it waits.
class FiberDecoder : public ChannelDuplexHandler {
  public:
    using InboundIn = Messages<Buffer>;

    static constexpr std::size_t highMark = 64 * 1024;  // unread bytes at which read() is withheld
    static constexpr std::size_t lowMark = 32 * 1024;   // ... and below which it is passed on
    static constexpr std::size_t defaultMaxRead = 1024 * 1024;

    // `maxRead`: the most bytes that one read may return or a delimiter may end, at least 8; throws
    // std::invalid_argument.
    explicit FiberDecoder(std::size_t maxRead = defaultMaxRead);

    // Throws std::logic_error when it is in a pipeline already, or on an embedded loop.
    void handlerAdded(ChannelHandlerContext& ctx) final;
    void handlerRemoved(ChannelHandlerContext& ctx) final;
    void channelActive(ChannelHandlerContext& ctx) final;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) final;
    void channelReadComplete(ChannelHandlerContext& ctx) final;
    void channelInactive(ChannelHandlerContext& ctx) final;
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override;
    void read(ChannelHandlerContext& ctx) final;

  protected:
    // Context: the fiber, at home on the channel's carrier.
    virtual void decode(ByteReader& in, ChannelHandlerContext& ctx) = 0;

  private:
    friend class ByteReader;

    void start(ChannelHandlerContext& ctx);
    void run(ChannelHandlerContext& ctx);
    void fail(ChannelHandlerContext& ctx, std::exception_ptr cause) noexcept;
    void endInput(ChannelHandlerContext& ctx);
    void completeCycle(ChannelHandlerContext& ctx);
    void dropUnread(ChannelHandlerContext& ctx);
    // Called by the reader, in the fiber.
    void beforeWait();
    void bytesRemoved();

    ChannelHandlerContext* ctx_ = nullptr;  // null: in no pipeline
    ByteReader reader_;
    bool started_ = false;
    bool failed_ = false;         // what arrives is discarded
    bool withheld_ = false;       // a read() was not passed on
    bool cycleEnded_ = false;     // a channelReadComplete waits for the fiber
    bool inputShutdown_ = false;  // an InputShutdownEvent waits for the fiber
    bool hadHalfClosure_ = false;
};

}  // namespace weft
