// Events from the head of the pipeline, and what becomes of them at its tail.
#include <weft/pipeline/channel_pipeline.hpp>

#include <cerrno>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/detail/limited_log.hpp>
#include <weft/scheduler/log.hpp>

#include "lost_writes.hpp"
#include "tail_release.hpp"

namespace weft {

namespace {

// The end of a connection by its peer is no fault of this side.
bool isPeersEnd(const std::exception_ptr& cause) noexcept {
    const ErrorCode error = errorCodeOf(cause);
    return error == fromErrno(ECONNRESET) || error == fromErrno(EPIPE);
}

void logUnhandled(const Channel& channel, const std::exception_ptr& cause) noexcept {
    static detail::LimitedLog limited;
    try {
        limited.write(isPeersEnd(cause) ? LogLevel::debug : LogLevel::warning,
                      {"exceptionCaught() reached the tail of the pipeline of ", detail::channelName(channel),
                       "; its last handler did not take it: ", describe(cause)});
    } catch (...) {
        limited.write(LogLevel::warning, {"exceptionCaught() reached the tail of a pipeline"});
    }
}

}  // namespace

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

thread_local constinit std::uintptr_t detail::watchedDelivery = 0;
thread_local constinit const detail::TailRelease* detail::TailRelease::current_ = nullptr;

// ---- P-4: the tail releases what nobody wanted, and says so ----

void ChannelPipeline::onUnhandledMessage(Message&& message) noexcept {
    if (observer_) return observer_->unhandledMessage(std::move(message));
    const detail::TailRelease release(lastReader());
    const Message held = std::move(message);
    log(LogLevel::debug, {"a ", held.typeName(), " reached the tail of a pipeline unread and was released; ",
                          release.lastReader(), " passed it on last; check the handlers behind it and their order"});
}

void ChannelPipeline::onUnhandledEvent(Message&& event) noexcept {
    const Message released = std::move(event);
}

void ChannelPipeline::onUnhandledException(std::exception_ptr cause) noexcept {
    if (losing_ != nullptr) return loseChannel(std::move(cause));
    if (observer_) return observer_->unhandledException(std::move(cause));
    logUnhandled(channel_, cause);
}

// E-3 for a write without a promise: its handler's exceptionCaught() hears of it. What nobody takes closes the channel,
// for its peer would wait for a message that never comes.
void ChannelPipeline::onWriteThrew(Context& thrower, std::exception_ptr cause) noexcept {
    Context* const outer = std::exchange(losing_, &thrower);
    thrower.invokeExceptionCaught(std::move(cause));
    losing_ = outer;
}

void ChannelPipeline::loseChannel(std::exception_ptr cause) noexcept {
    const Context& thrower = *std::exchange(losing_, nullptr);  // what the close brings about is not its doing
    if (observer_) {
        observer_->unhandledException(cause);
    } else {
        detail::logThrownWrite(thrower, cause);
    }
    channel_.closeBecauseOf(std::move(cause));
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
