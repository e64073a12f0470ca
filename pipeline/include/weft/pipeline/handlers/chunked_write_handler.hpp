// ChunkedWriteHandler: writes a large payload without holding it in memory: it reads the next chunk once the channel is
// writable again.
#pragma once

#include <exception>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/handlers/chunked_input.hpp>
#include <weft/scheduler/scheduled_task.hpp>

namespace weft {

// A written ChunkedInputPointer becomes a series of writes; other messages pass unchanged, in order. A write starts
// once it has been flushed; its chunks are read only while the channel is writable, and its promise completes with the
// last chunk. At most `chunksAtOnce` chunks are written before other channels of the loop get a turn. An exception from
// readChunk() or a failed chunk fails the write. Earlier chunks have been sent by then, so the peer notices only when
// the connection is closed: add the listener closeChannelOnFailure. The same holds for a write that is cancelled: no
// further chunk is read. Once its last chunk has been written, it cannot be cancelled. Pending writes fail when the
// channel becomes inactive or this handler is removed.
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

    // Resumes an input that had no chunk ready. Context: the loop, while the handler is in the pipeline.
    void resumeTransfer();

  private:
    struct Pending {
        Message message;
        ChannelPromise promise;
        ChannelFuture lastChunk;  // of an input that has started: the last chunk written so far
    };
    enum class Step : unsigned char { wrote, finished, waits };

    void pump();
    bool pumpSome();
    Step writeFront();
    Step writeChunk();
    bool chunkWanted();
    void finishFront(Message&& last);
    void failFront(const std::exception_ptr& cause);
    void failAll(const std::exception_ptr& cause);

    ChannelHandlerContext* ctx_ = nullptr;
    detail::Ring<Pending> queue_;
    std::size_t flushed_ = 0;  // how many of queue_, from the front, are flushed
    ScheduledTask goOn_;
    bool pumping_ = false;
};

}  // namespace weft
