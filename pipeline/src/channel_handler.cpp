#include <weft/pipeline/channel_handler.hpp>

#include <utility>

#include <weft/pipeline/channel_handler_context.hpp>

namespace weft {

// The defaults forward. The pipeline skips handlers that do not override a method, so these run only when an override
// calls its base.
void ChannelHandler::exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) {
    ctx.fireExceptionCaught(std::move(cause));
}
void ChannelHandler::channelRegistered(ChannelHandlerContext& ctx) {
    ctx.fireChannelRegistered();
}
void ChannelHandler::channelUnregistered(ChannelHandlerContext& ctx) {
    ctx.fireChannelUnregistered();
}
void ChannelHandler::channelActive(ChannelHandlerContext& ctx) {
    ctx.fireChannelActive();
}
void ChannelHandler::channelInactive(ChannelHandlerContext& ctx) {
    ctx.fireChannelInactive();
}
void ChannelHandler::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    ctx.fireChannelRead(std::move(message));
}
void ChannelHandler::channelReadComplete(ChannelHandlerContext& ctx) {
    ctx.fireChannelReadComplete();
}
void ChannelHandler::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    ctx.fireUserEventTriggered(std::move(event));
}
void ChannelHandler::channelWritabilityChanged(ChannelHandlerContext& ctx) {
    ctx.fireChannelWritabilityChanged();
}

void ChannelHandler::bind(ChannelHandlerContext& ctx, const SocketAddress& local, ChannelPromise promise) {
    ctx.bind(local, std::move(promise));
}
void ChannelHandler::connect(ChannelHandlerContext& ctx, const SocketAddress& remote, const SocketAddress* local,
                             ChannelPromise promise) {
    ctx.connect(remote, local, std::move(promise));
}
void ChannelHandler::disconnect(ChannelHandlerContext& ctx, ChannelPromise promise) {
    ctx.disconnect(std::move(promise));
}
void ChannelHandler::close(ChannelHandlerContext& ctx, ChannelPromise promise) {
    ctx.close(std::move(promise));
}
void ChannelHandler::deregister(ChannelHandlerContext& ctx, ChannelPromise promise) {
    ctx.deregister(std::move(promise));
}
void ChannelHandler::read(ChannelHandlerContext& ctx) {
    ctx.read();
}
void ChannelHandler::write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) {
    ctx.write(std::move(message), std::move(promise));
}
void ChannelHandler::flush(ChannelHandlerContext& ctx) {
    ctx.flush();
}

}  // namespace weft
