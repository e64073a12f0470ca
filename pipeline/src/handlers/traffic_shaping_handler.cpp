#include <weft/pipeline/handlers/traffic_shaping_handler.hpp>

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>

#include "argument_checks.hpp"

namespace weft {

namespace {

std::shared_ptr<TokenBucket> bucketOf(std::uint64_t limit, std::uint64_t burst) {
    return limit > 0 ? std::make_shared<TokenBucket>(limit, burst) : nullptr;
}

}  // namespace

TrafficShapingHandler::TrafficShapingHandler(TrafficLimits limits, unsigned writabilityIndex)
    : TrafficShapingHandler(SharedTraffic{bucketOf(limits.read, limits.burst), bucketOf(limits.write, limits.burst)},
                            writabilityIndex) {}

TrafficShapingHandler::TrafficShapingHandler(SharedTraffic shared, unsigned writabilityIndex)
    : readBucket_(std::move(shared.read)),
      writeBucket_(std::move(shared.write)),
      writabilityIndex_(detail::checked("TrafficShapingHandler", "writabilityIndex", writabilityIndex, 1, 31)) {}

void TrafficShapingHandler::channelUnregistered(ChannelHandlerContext& ctx) {
    readTimer_.cancel();
    writeTimer_.cancel();
    ctx.fireChannelUnregistered();
}

// ---- reading ----

void TrafficShapingHandler::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (readBucket_) readBucket_->take(message.estimatedBytes(), ctx.loop().clock().now());
    ctx.fireChannelRead(std::move(message));
}

// An automatic read() that had to wait is dropped when AUTO_READ is off once the bucket has tokens.
void TrafficShapingHandler::read(ChannelHandlerContext& ctx) {
    const Duration delay = readBucket_ ? readBucket_->delay(ctx.loop().clock().now()) : Duration::zero();
    if (delay == Duration::zero()) return ctx.read();
    const bool automatic = ctx.channel().config().autoRead;
    const auto readLater = [this, &ctx, automatic] {
        if (!automatic || ctx.channel().config().autoRead) read(ctx);
    };
    readTimer_.cancel();
    readTimer_ = ctx.schedule(readLater, delay);
}

// ---- writing ----

Duration TrafficShapingHandler::writeDelay(ChannelHandlerContext& ctx) const noexcept {
    return writeBucket_->delay(ctx.loop().clock().now());
}

void TrafficShapingHandler::write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) {
    if (!writeBucket_) return ctx.write(std::move(message), std::move(promise));
    const std::size_t bytes = message.estimatedBytes();
    if (queue_.empty() && writeDelay(ctx) == Duration::zero()) {
        return pass(ctx, std::move(message), std::move(promise), bytes);
    }
    if (Buffer* const buffer = message.getIf<Buffer>()) {
        const Buffer* const last = queue_.empty() ? nullptr : queue_.back().message.getIf<Buffer>();
        last != nullptr ? detail::compactAfter(*last, *buffer) : detail::compact(*buffer);
    }
    queue_.push({std::move(message), std::move(promise), bytes});
    queuedBytes_ += bytes;
    updateWritability(ctx);
}

void TrafficShapingHandler::flush(ChannelHandlerContext& ctx) {
    flushed_ = queue_.size();
    pump(ctx);
    ctx.flush();
}

void TrafficShapingHandler::pass(ChannelHandlerContext& ctx, Message&& message, ChannelPromise&& promise,
                                 std::size_t bytes) {
    if (writeBucket_) writeBucket_->take(bytes, ctx.loop().clock().now());
    ctx.write(std::move(message), std::move(promise));
}

void TrafficShapingHandler::passFront(ChannelHandlerContext& ctx) {
    Pending next = queue_.pop();
    flushed_ -= flushed_ > 0;
    queuedBytes_ -= next.bytes;
    pass(ctx, std::move(next.message), std::move(next.promise), next.bytes);
}

// Writes may call back here: they add to the end of the queue, and this loop goes on at the front.
void TrafficShapingHandler::pump(ChannelHandlerContext& ctx) {
    if (pumping_ || flushed_ == 0) return;
    pumping_ = true;
    while (flushed_ > 0 && writeDelay(ctx) == Duration::zero()) passFront(ctx);
    pumping_ = false;
    updateWritability(ctx);
    if (flushed_ == 0 || !writeTimer_.done()) return;
    const auto goOn = [this, &ctx] {
        writeTimer_ = {};
        pump(ctx);
        ctx.flush();
    };
    writeTimer_ = ctx.schedule(goOn, writeDelay(ctx));
}

// As without this handler, a close first writes what was flushed (C-5).
void TrafficShapingHandler::passFlushed(ChannelHandlerContext& ctx) {
    if (flushed_ == 0) return;
    while (flushed_ > 0) passFront(ctx);
    ctx.flush();
}

void TrafficShapingHandler::passAll(ChannelHandlerContext& ctx) {
    const bool flush = flushed_ > 0;
    while (!queue_.empty()) passFront(ctx);
    if (flush) ctx.flush();
}

std::size_t TrafficShapingHandler::heldBytes() const noexcept {
    std::size_t held = 0;
    const void* last = nullptr;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        if (!queue_[i].message.is<Buffer>()) continue;
        const Buffer& buffer = queue_[i].message.get<Buffer>();
        if (detail::storageOf(buffer) != last) held += buffer.heldBytes();
        last = detail::storageOf(buffer);
    }
    return held;
}

// Writable again at half of the limit or less.
void TrafficShapingHandler::updateWritability(ChannelHandlerContext& ctx) {
    const std::size_t waiting = queuedBytes_ + queue_.size() * ChannelOutput::entryBytes;
    const bool writable = waiting <= (writable_ ? mostQueuedBytes : mostQueuedBytes / 2);
    if (writable == writable_) return;
    writable_ = writable;
    ctx.channel().setUserDefinedWritability(writabilityIndex_, writable);
}

void TrafficShapingHandler::disconnect(ChannelHandlerContext& ctx, ChannelPromise promise) {
    passFlushed(ctx);
    ctx.disconnect(std::move(promise));
}

void TrafficShapingHandler::close(ChannelHandlerContext& ctx, ChannelPromise promise) {
    passFlushed(ctx);
    ctx.close(std::move(promise));
}

// The channel is closed, so the queued writes fail, in order.
void TrafficShapingHandler::channelInactive(ChannelHandlerContext& ctx) {
    passAll(ctx);
    ctx.fireChannelInactive();
}

void TrafficShapingHandler::handlerRemoved(ChannelHandlerContext& ctx) {
    passAll(ctx);
    updateWritability(ctx);
}

}  // namespace weft
