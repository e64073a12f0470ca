#include <weft/pipeline/handlers/idle_state_handler.hpp>

#include <algorithm>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>

#include "argument_checks.hpp"

namespace weft {

using detail::checkedPeriod;

IdleStateHandler::IdleStateHandler(IdleStateOptions options)
    : observeOutput_(options.observeOutput),
      reader_{IdleState::reader, checkedPeriod("IdleStateHandler: reader", options.reader)},
      writer_{IdleState::writer, checkedPeriod("IdleStateHandler: writer", options.writer)},
      all_{IdleState::all, checkedPeriod("IdleStateHandler: all", options.all)} {}

// ---- the life of the channel ----

void IdleStateHandler::handlerAdded(ChannelHandlerContext& ctx) {
    start(ctx);
}
void IdleStateHandler::channelRegistered(ChannelHandlerContext& ctx) {
    start(ctx);
    ctx.fireChannelRegistered();
}
void IdleStateHandler::channelUnregistered(ChannelHandlerContext& ctx) {
    stop();
    ctx.fireChannelUnregistered();
}
void IdleStateHandler::channelActive(ChannelHandlerContext& ctx) {
    start(ctx);
    ctx.fireChannelActive();
}
void IdleStateHandler::channelInactive(ChannelHandlerContext& ctx) {
    stop();
    ctx.fireChannelInactive();
}

void IdleStateHandler::start(ChannelHandlerContext& ctx) {
    if (running_ || !ctx.channel().registered() || !ctx.channel().active()) return;
    running_ = true;
    lastRead_ = lastWrite_ = ctx.loop().clock().now();
    for (Watch* watch : {&reader_, &writer_, &all_}) {
        watch->seenOutput = ctx.channel().writtenBytes();
        if (watch->period > Duration::zero()) arm(ctx, *watch, watch->period);
    }
}

void IdleStateHandler::stop() noexcept {
    running_ = false;
    for (Watch* watch : {&reader_, &writer_, &all_}) watch->timer.cancel();
}

// ---- activity ----

void IdleStateHandler::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    reading_ = true;
    reader_.first = all_.first = true;
    ctx.fireChannelRead(std::move(message));
}

void IdleStateHandler::channelReadComplete(ChannelHandlerContext& ctx) {
    if (std::exchange(reading_, false)) lastRead_ = ctx.loop().clock().now();
    ctx.fireChannelReadComplete();
}

void IdleStateHandler::write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) {
    if (writer_.period == Duration::zero() && all_.period == Duration::zero())
        return ctx.write(std::move(message), std::move(promise));
    ChannelPromise heard = promise.isVoid() ? ctx.newPromise() : std::move(promise);
    heard.addListener([this, &ctx, pin = detail::ChannelPin(ctx.channel())](const ChannelFuture& done) {
        if (!done.success()) return;
        lastWrite_ = ctx.loop().clock().now();
        writer_.first = all_.first = true;
        writer_.seenOutput = all_.seenOutput = ctx.channel().writtenBytes();
    });
    ctx.write(std::move(message), std::move(heard));
}

// ---- checking ----

void IdleStateHandler::arm(ChannelHandlerContext& ctx, Watch& watch, Duration delay) {
    watch.timer = ctx.schedule([this, &ctx, &watch] { look(ctx, watch); }, delay);
}

// One timer per period, not one per activity: when it fires, it checks how long ago the last activity was.
void IdleStateHandler::look(ChannelHandlerContext& ctx, Watch& watch) {
    const bool reading = reading_ && watch.state != IdleState::writer;
    const Duration silent = reading ? Duration::zero() : ctx.loop().clock().now() - lastActivity(watch.state);
    if (silent < watch.period) return arm(ctx, watch, watch.period - silent);
    arm(ctx, watch, watch.period);
    if (observeOutput_ && watch.state != IdleState::reader) {
        const std::uint64_t written = ctx.channel().writtenBytes();
        if (std::exchange(watch.seenOutput, written) != written) return;
    }
    channelIdle(ctx, {watch.state, std::exchange(watch.first, false)});
}

TimePoint IdleStateHandler::lastActivity(IdleState state) const noexcept {
    switch (state) {
        case IdleState::reader: return lastRead_;
        case IdleState::writer: return lastWrite_;
        case IdleState::all: break;
    }
    return std::max(lastRead_, lastWrite_);
}

void IdleStateHandler::channelIdle(ChannelHandlerContext& ctx, IdleStateEvent event) {
    ctx.fireUserEventTriggered(Message(IdleStateEvent(event)));
}

}  // namespace weft
