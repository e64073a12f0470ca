// Events from the head of the pipeline, and what becomes of them at its tail.
#include <weft/pipeline/channel_pipeline.hpp>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

void ChannelPipeline::fireChannelRegistered() {
    head_.fireChannelRegistered();
}
void ChannelPipeline::fireChannelUnregistered() {
    head_.fireChannelUnregistered();
}
void ChannelPipeline::fireChannelInactive() {
    head_.fireChannelInactive();
}
void ChannelPipeline::fireChannelRead(Message&& message) {
    head_.fireChannelRead(std::move(message));
}
void ChannelPipeline::fireUserEventTriggered(Message&& event) {
    head_.fireUserEventTriggered(std::move(event));
}
void ChannelPipeline::fireChannelWritabilityChanged() {
    head_.fireChannelWritabilityChanged();
}
void ChannelPipeline::fireExceptionCaught(std::exception_ptr cause) {
    head_.fireExceptionCaught(std::move(cause));
}

void ChannelPipeline::fireChannelActive() {
    head_.fireChannelActive();
    if (channel_.mayRunHere()) channel_.readIfAutoRead();
}

void ChannelPipeline::fireChannelReadComplete() {
    head_.fireChannelReadComplete();
    if (channel_.mayRunHere()) channel_.readIfAutoRead();
}

// ---- P-4: the tail releases what nobody wanted, and says so ----

void ChannelPipeline::onUnhandledMessage(Message&& message) noexcept {
    Message held = std::move(message);
    if (observer_) return observer_->unhandledMessage(std::move(held));
    log(LogLevel::debug, {"a ", held.typeName(), " reached the tail of a pipeline unread and was released; ",
                          lastReader(), " passed it on last; check the handlers behind it and their order"});
}

void ChannelPipeline::onUnhandledEvent(Message&& event) noexcept {
    const Message released = std::move(event);
}

void ChannelPipeline::onUnhandledException(std::exception_ptr cause) noexcept {
    if (observer_) return observer_->unhandledException(std::move(cause));
    log(LogLevel::warning,
        "exceptionCaught() reached the tail of a pipeline; its last handler did not take it: " + describe(cause));
}

namespace detail {

void TailHandler::exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) {
    pipeline_.onUnhandledException(std::move(cause));
}
void TailHandler::channelRead(ChannelHandlerContext&, Message&& message) {
    pipeline_.onUnhandledMessage(std::move(message));
}
void TailHandler::userEventTriggered(ChannelHandlerContext&, Message&& event) {
    pipeline_.onUnhandledEvent(std::move(event));
}

void HeadHandler::bind(ChannelHandlerContext&, const SocketAddress& local, ChannelPromise promise) {
    channel_.headBind(local, std::move(promise));
}
void HeadHandler::connect(ChannelHandlerContext&, const SocketAddress& remote, const SocketAddress* local,
                          ChannelPromise promise) {
    channel_.headConnect(remote, local, std::move(promise));
}
void HeadHandler::disconnect(ChannelHandlerContext&, ChannelPromise promise) {
    channel_.headClose(std::move(promise));  // P-6
}
void HeadHandler::close(ChannelHandlerContext&, ChannelPromise promise) {
    channel_.headClose(std::move(promise));
}
void HeadHandler::deregister(ChannelHandlerContext&, ChannelPromise promise) {
    channel_.headDeregister(std::move(promise));
}
void HeadHandler::read(ChannelHandlerContext&) {
    channel_.headRead();
}
void HeadHandler::write(ChannelHandlerContext&, Message&& message, ChannelPromise promise) {
    channel_.headWrite(std::move(message), std::move(promise));
}
void HeadHandler::flush(ChannelHandlerContext&) {
    channel_.headFlush();
}

}  // namespace detail
}  // namespace weft
