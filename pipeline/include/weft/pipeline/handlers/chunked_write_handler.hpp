// ChunkedWriteHandler: writes something large without holding it in memory: the next piece is read when the channel is
// writable again.
#pragma once

#include <exception>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/handler_timer.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/handlers/chunked_input.hpp>

namespace weft {

// A written ChunkedInputPointer becomes a row of writes; other messages pass, in their place between such rows. A write
// begins to leave when it has been flushed, its chunks are read only while the channel is writable, and its promise
// completes with the last chunk. At most `chunksAtOnce` chunks go out before other channels of the loop have their
// turn. What fails (readChunk() threw, a chunk could not be written) fails the write; the chunks before it have left,
// so the peer can tell the rest only from a closed connection: closeChannelOnFailure. What waits when the channel
// becomes inactive, or this handler is removed, fails.
class ChunkedWriteHandler final : public ChannelDuplexHandler {
  public:
    static constexpr unsigned chunksAtOnce = 16;

    void handlerAdded(ChannelHandlerContext& ctx) override;
    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelInactive(ChannelHandlerContext& ctx) override;
    void channelUnregistered(ChannelHandlerContext& ctx) override;
    void channelWritabilityChanged(ChannelHandlerContext& ctx) override;
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override;
    void flush(ChannelHandlerContext& ctx) override;

    // Goes on with an input that had nothing for now. Context: the loop, while the handler is in the pipeline.
    void resumeTransfer();

  private:
    struct Pending {
        Message message;
        ChannelPromise promise;
        ChannelFuture lastChunk;  // of an input that has begun
    };
    enum class Step : unsigned char { wrote, finished, waits };

    void pump();
    bool pumpSome();
    Step writeFront();
    Step writeChunk();
    bool asked();
    void finishFront(Message&& last);
    void failFront(const std::exception_ptr& cause);
    void failAll(const std::exception_ptr& cause);

    ChannelHandlerContext* ctx_ = nullptr;
    detail::Ring<Pending> queue_;
    std::size_t flushed_ = 0;  // of queue_, from the front
    detail::HandlerTimer goOn_;
    bool pumping_ = false;
};

}  // namespace weft
