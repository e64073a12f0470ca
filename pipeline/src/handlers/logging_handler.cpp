#include <weft/pipeline/handlers/logging_handler.hpp>

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/printable.hpp>

namespace weft {

LoggingHandler::LoggingHandler(LogLevel level, LoggedBytes bytes, std::string name)
    : level_(level), bytes_(bytes), name_(std::move(name)) {}

void LoggingHandler::note(ChannelHandlerContext& ctx, std::string_view event, std::string_view details) const {
    const Channel& channel = ctx.channel();
    log(level_, {name_, ": channel ", std::to_string(channel.id()), " (", channel.localAddress().toString(), " -> ",
                 channel.remoteAddress().toString(), ") ", event, details.empty() ? "" : " ", details});
}

std::string LoggingHandler::show(const Message& message) const {
    if (!message.is<Buffer>()) return std::string(message.typeName());
    const std::string_view bytes = message.get<Buffer>().view();
    const std::string count = std::to_string(bytes.size()) + " bytes";
    return bytes_ == LoggedBytes::count ? count : count + ": " + detail::printable(bytes, shownBytes, true);
}

void LoggingHandler::handlerAdded(ChannelHandlerContext& ctx) {
    note(ctx, "ADDED");
}
void LoggingHandler::handlerRemoved(ChannelHandlerContext& ctx) {
    note(ctx, "REMOVED");
}
void LoggingHandler::exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) {
    note(ctx, "EXCEPTION", describe(cause));
    ctx.fireExceptionCaught(std::move(cause));
}
void LoggingHandler::channelRegistered(ChannelHandlerContext& ctx) {
    note(ctx, "REGISTERED");
    ctx.fireChannelRegistered();
}
void LoggingHandler::channelUnregistered(ChannelHandlerContext& ctx) {
    note(ctx, "UNREGISTERED");
    ctx.fireChannelUnregistered();
}
void LoggingHandler::channelActive(ChannelHandlerContext& ctx) {
    note(ctx, "ACTIVE");
    ctx.fireChannelActive();
}
void LoggingHandler::channelInactive(ChannelHandlerContext& ctx) {
    note(ctx, "INACTIVE");
    ctx.fireChannelInactive();
}
void LoggingHandler::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    note(ctx, "READ", show(message));
    ctx.fireChannelRead(std::move(message));
}
void LoggingHandler::channelReadComplete(ChannelHandlerContext& ctx) {
    note(ctx, "READ COMPLETE");
    ctx.fireChannelReadComplete();
}
void LoggingHandler::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    note(ctx, "USER EVENT", show(event));
    ctx.fireUserEventTriggered(std::move(event));
}
void LoggingHandler::channelWritabilityChanged(ChannelHandlerContext& ctx) {
    note(ctx, ctx.channel().isWritable() ? "WRITABLE" : "NOT WRITABLE");
    ctx.fireChannelWritabilityChanged();
}
void LoggingHandler::bind(ChannelHandlerContext& ctx, const SocketAddress& local, ChannelPromise promise) {
    note(ctx, "BIND", local.toString());
    ctx.bind(local, std::move(promise));
}
void LoggingHandler::connect(ChannelHandlerContext& ctx, const SocketAddress& remote, const SocketAddress* local,
                             ChannelPromise promise) {
    note(ctx, "CONNECT", remote.toString());
    ctx.connect(remote, local, std::move(promise));
}
void LoggingHandler::disconnect(ChannelHandlerContext& ctx, ChannelPromise promise) {
    note(ctx, "DISCONNECT");
    ctx.disconnect(std::move(promise));
}
void LoggingHandler::close(ChannelHandlerContext& ctx, ChannelPromise promise) {
    note(ctx, "CLOSE");
    ctx.close(std::move(promise));
}
void LoggingHandler::deregister(ChannelHandlerContext& ctx, ChannelPromise promise) {
    note(ctx, "DEREGISTER");
    ctx.deregister(std::move(promise));
}
void LoggingHandler::read(ChannelHandlerContext& ctx) {
    note(ctx, "READ REQUEST");
    ctx.read();
}
void LoggingHandler::write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) {
    note(ctx, "WRITE", show(message));
    ctx.write(std::move(message), std::move(promise));
}
void LoggingHandler::flush(ChannelHandlerContext& ctx) {
    note(ctx, "FLUSH");
    ctx.flush();
}

}  // namespace weft
