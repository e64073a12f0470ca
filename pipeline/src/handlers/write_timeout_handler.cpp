#include <weft/pipeline/handlers/write_timeout_handler.hpp>

#include <utility>

#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/handlers/timeout_errors.hpp>

#include "handler_checks.hpp"

namespace weft {

WriteTimeoutHandler::WriteTimeoutHandler(Duration timeout)
    : timeout_(detail::checkedPeriod("WriteTimeoutHandler: timeout", timeout)) {}

void WriteTimeoutHandler::handlerRemoved(ChannelHandlerContext&) {
    stop();
}

void WriteTimeoutHandler::channelUnregistered(ChannelHandlerContext& ctx) {
    stop();
    ctx.fireChannelUnregistered();
}

void WriteTimeoutHandler::write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) {
    if (timeout_ == Duration::zero()) return ctx.write(std::move(message), std::move(promise));
    const ChannelPromise heard = promise.isVoid() ? ctx.newPromise() : std::move(promise);
    ctx.write(std::move(message), heard);
    watch(ctx, heard.future());
}

void WriteTimeoutHandler::watch(ChannelHandlerContext& ctx, ChannelFuture write) {
    forgetDone();
    if (write.done() || closing_ || ctx.removed()) return;
    pending_.push({deadlineAfter(ctx.loop().clock().now(), timeout_), std::move(write)});
    if (!timer_.waiting()) arm(ctx);
}

void WriteTimeoutHandler::arm(ChannelHandlerContext& ctx) {
    timer_.set(ctx, pending_.front().deadline - ctx.loop().clock().now(), [this, &ctx] { look(ctx); });
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

void WriteTimeoutHandler::stop() noexcept {
    timer_.cancel();
    pending_.clear();
}

}  // namespace weft
