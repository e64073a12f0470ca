#include <weft/pipeline/handlers/flow_control_handler.hpp>

#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

void FlowControlHandler::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    inCycle_ = true;
    queue_.push(std::move(message));
    if (std::exchange(awaited_, false)) ++requestedReads_;
    release(ctx);
}

// A cycle whose messages are all queued here has not reached the handlers after this one yet.
void FlowControlHandler::channelReadComplete(ChannelHandlerContext& ctx) {
    inCycle_ = false;
    if (!queue_.empty() && !released_) return;
    released_ = false;
    ctx.fireChannelReadComplete();
}

// A read() that the queue serves goes no further, unless AUTO_READ has just been switched on.
void FlowControlHandler::read(ChannelHandlerContext& ctx) {
    const bool answered = requestedReads_ < queue_.size();
    if (answered) {
        ++requestedReads_;
        release(ctx);
        completeIfReleased(ctx);
    }
    if (answered && !ctx.channel().config().autoRead) return;
    if (!answered) awaited_ = true;
    ctx.read();
}

// Handlers may call read() inside, also repeatedly: nested calls only count, and this loop does the rest.
void FlowControlHandler::release(ChannelHandlerContext& ctx) {
    if (releasing_) return;
    releasing_ = true;
    while (!queue_.empty() && (requestedReads_ > 0 || ctx.channel().config().autoRead)) {
        if (requestedReads_ > 0) --requestedReads_;
        released_ = true;
        ctx.fireChannelRead(queue_.pop());
    }
    releasing_ = false;
}

void FlowControlHandler::completeIfReleased(ChannelHandlerContext& ctx) {
    if (!inCycle_ && !releasing_ && std::exchange(released_, false)) ctx.fireChannelReadComplete();
}

void FlowControlHandler::channelInactive(ChannelHandlerContext& ctx) {
    if (!queue_.empty()) {
        log(LogLevel::debug, ctx.name() + " dropped " + std::to_string(queue_.size()) +
                                 " messages: the channel became inactive before read() was called for them");
    }
    queue_.clear();
    requestedReads_ = 0;
    ctx.fireChannelInactive();
}

void FlowControlHandler::handlerRemoved(ChannelHandlerContext& ctx) {
    requestedReads_ = queue_.size();
    inCycle_ = false;
    release(ctx);
    completeIfReleased(ctx);
}

}  // namespace weft
