#include <weft/pipeline/handlers/write_timeout_handler.hpp>

#include <utility>

#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/handlers/timeout_errors.hpp>
#include <weft/scheduler/event_loop.hpp>

#include "argument_checks.hpp"

namespace weft {

WriteTimeoutHandler::WriteTimeoutHandler(Duration timeout)
    : timeout_(detail::checkedPeriod("WriteTimeoutHandler: timeout", timeout)) {}

void WriteTimeoutHandler::channelUnregistered(ChannelHandlerContext& ctx) {
    timer_.cancel();
    pending_.clear();
    ctx.fireChannelUnregistered();
}

void WriteTimeoutHandler::write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) {
    if (timeout_ == Duration::zero()) return ctx.write(std::move(message), std::move(promise));
    const ChannelPromise heard = promise.isVoid() ? ctx.newPromise() : std::move(promise);
    ctx.write(std::move(message), heard);
    forgetDone();
    if (heard.done() || closing_ || ctx.removed()) return;
    pending_.push({deadlineAfter(ctx.loop().clock().now(), timeout_), heard.future()});
    if (timer_.done()) arm(ctx);
}

void WriteTimeoutHandler::arm(ChannelHandlerContext& ctx) {
    timer_ = ctx.schedule([this, &ctx] { look(ctx); }, pending_.front().deadline - ctx.loop().clock().now());
}

void WriteTimeoutHandler::look(ChannelHandlerContext& ctx) {
    forgetDone();
    if (pending_.empty()) return;
    if (pending_.front().deadline > ctx.loop().clock().now()) return arm(ctx);
    closing_ = true;
    pending_.clear();
    ctx.fireExceptionCaught(std::make_exception_ptr(WriteTimeoutException()));
    ctx.close();
}

// Writes complete in order, so the completed ones are at the front.
void WriteTimeoutHandler::forgetDone() noexcept {
    while (!pending_.empty() && pending_.front().write.done()) pending_.pop();
}

}  // namespace weft
