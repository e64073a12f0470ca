// TrafficShapingHandler: limits the bytes per second of a connection, or of all connections that share its buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/pipeline/handlers/token_bucket.hpp>
#include <weft/scheduler/scheduled_task.hpp>

namespace weft {

// Limits of one connection, in bytes per second; 0: none.
struct TrafficLimits {
    std::uint64_t read = 0;
    std::uint64_t write = 0;
    std::uint64_t burst = TokenBucket::defaultBurst;  // bytes that may pass at once after an idle time
};

// Buckets that connections of any loops share; null: no limit.
struct SharedTraffic {
    std::shared_ptr<TokenBucket> read;
    std::shared_ptr<TokenBucket> write;
};

// Add it as the first handler of a pipeline, so that it counts the bytes of the connection (a Buffer counts its bytes,
// any other message 8). Reading: input is never held back, but the next read() waits until the bucket has tokens again.
// Writing: writes and flushes beyond the limit are queued in order. While more than `mostQueuedBytes` are queued (each
// write counts 96 bytes besides its own, as in ChannelOutput), the channel is not writable: its user-defined bit
// `writabilityIndex` is false until at most half of that is queued. Whatever the limit, close() and disconnect() first
// pass on what was flushed, and removing this handler passes on everything queued. Uses the loop's clock. Shared
// buckets serve connections in no particular order.
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

    // Bytes queued here.
    std::size_t queuedBytes() const noexcept { return queuedBytes_; }
    // Capacities of the blocks that the queued bytes keep alive: at most four times (queuedBytes() + 96 per write),
    // plus the blocks of writes of more than 4 KiB. For tests and figures: visits every write.
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
    ScheduledTask readTimer_;
    ScheduledTask writeTimer_;
    detail::Ring<Pending> queue_;
    std::size_t flushed_ = 0;  // how many of queue_, from the front, are flushed
    std::size_t queuedBytes_ = 0;
    bool writable_ = true;  // the value of our bit
    bool pumping_ = false;
};

}  // namespace weft
