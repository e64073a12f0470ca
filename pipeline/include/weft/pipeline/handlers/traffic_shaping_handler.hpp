// TrafficShapingHandler: keeps a connection, or all connections that share its buckets, to a number of bytes per
// second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/handler_timer.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/pipeline/handlers/token_bucket.hpp>

namespace weft {

// Limits of one connection, in bytes per second; 0: none.
struct TrafficLimits {
    std::uint64_t read = 0;
    std::uint64_t write = 0;
    std::uint64_t burst = TokenBucket::defaultBurst;  // bytes that may pass at once after a pause
};

// Buckets that connections share, of any loops; null: no limit.
struct SharedTraffic {
    std::shared_ptr<TokenBucket> read;
    std::shared_ptr<TokenBucket> write;
};

// The first handler of a pipeline, so that it counts the bytes of the connection (a Buffer counts its bytes, any other
// message 8). Reading: what has come is never held, but the next read() waits until it has been paid for. Writing: what
// may not leave yet waits here, in order, with its flushes; while more than `mostQueuedBytes` wait (each write counts
// 96 bytes besides its own, as in the channel's queue), the channel is not writable (its user-defined bit
// `writabilityIndex`). A close puts out what was flushed, whatever the limit; so does
// the removal of this handler, with all that waits. Time is the loop's clock. With shared buckets, who comes first is
// first.
class TrafficShapingHandler final : public ChannelDuplexHandler {
  public:
    static constexpr std::size_t mostQueuedBytes = 64 * 1024;
    static constexpr unsigned defaultWritabilityIndex = 31;

    // Throws std::invalid_argument for limits or an index (1..31) out of range.
    explicit TrafficShapingHandler(TrafficLimits limits, unsigned writabilityIndex = defaultWritabilityIndex);
    explicit TrafficShapingHandler(SharedTraffic shared, unsigned writabilityIndex = defaultWritabilityIndex);

    using InboundOut = Messages<>;

    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelUnregistered(ChannelHandlerContext& ctx) override;
    void channelInactive(ChannelHandlerContext& ctx) override;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;
    void read(ChannelHandlerContext& ctx) override;
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override;
    void flush(ChannelHandlerContext& ctx) override;
    void disconnect(ChannelHandlerContext& ctx, ChannelPromise promise) override;
    void close(ChannelHandlerContext& ctx, ChannelPromise promise) override;

    // Bytes that wait here to be written.
    std::size_t queuedBytes() const noexcept { return queuedBytes_; }
    // Capacities of the blocks that they keep alive: at most four times their number with 96 for each write, plus the
    // blocks of writes of more than 4 KiB. For tests and figures: looks at every write.
    std::size_t heldBytes() const noexcept;

  private:
    struct Pending {
        Message message;
        ChannelPromise promise;
        std::size_t bytes = 0;
    };

    Duration writeDelay(ChannelHandlerContext& ctx) const noexcept;
    void pass(ChannelHandlerContext& ctx, Message&& message, ChannelPromise&& promise, std::size_t bytes);
    void passFront(ChannelHandlerContext& ctx);
    void passFlushed(ChannelHandlerContext& ctx);
    void passAll(ChannelHandlerContext& ctx);
    void pump(ChannelHandlerContext& ctx);
    void updateWritability(ChannelHandlerContext& ctx);

    const std::shared_ptr<TokenBucket> readBucket_;
    const std::shared_ptr<TokenBucket> writeBucket_;
    const unsigned writabilityIndex_;
    detail::HandlerTimer readTimer_;
    detail::HandlerTimer writeTimer_;
    detail::Ring<Pending> queue_;
    std::size_t flushed_ = 0;  // of queue_, from the front
    std::size_t queuedBytes_ = 0;
    bool writable_ = true;  // our bit
    bool pumping_ = false;
};

}  // namespace weft
