// Events from the head of the pipeline, and their handling at its tail.
#include <weft/pipeline/channel_pipeline.hpp>

#include <cerrno>
#include <new>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/detail/limited_log.hpp>
#include <weft/scheduler/log.hpp>

#include <weft/pipeline/detail/lost_writes.hpp>
#include "enters_loop.hpp"

namespace weft {

namespace {

// The peer ended the connection, which is no fault of this side.
bool isPeersEnd(const std::exception_ptr& cause) noexcept {
    const ErrorCode error = errorCodeOf(cause);
    return error == fromErrno(ECONNRESET) || error == fromErrno(EPIPE);
}

void logUnhandled(const Channel& channel, const std::exception_ptr& cause) noexcept {
    static detail::LimitedLog limited;
    try {
        limited.write(isPeersEnd(cause) ? LogLevel::debug : LogLevel::warning,
                      {"exceptionCaught() reached the tail of the pipeline of ", detail::channelName(channel),
                       "; no handler handled it: ", describe(cause)});
    } catch (...) {
        limited.write(LogLevel::warning, {"exceptionCaught() reached the tail of a pipeline"});
    }
}

}  // namespace

void ChannelPipeline::fireChannelActive() {
    head_.fireChannelActive();
    readIfAutoRead();
}

void ChannelPipeline::fireChannelReadComplete() {
    head_.fireChannelReadComplete();
    readIfAutoRead();
}

// On another thread the loop reads when it fires the event.
void ChannelPipeline::readIfAutoRead() {
    if (detail::entersLoop(channel_.loop()) && channel_.config().autoRead && !channel_.closed()) read();
}

// A write with the void promise threw (E-3): calls exceptionCaught() of its handler. An exception that no handler takes
// closes the channel, because the peer would wait for a message that never comes.
void ChannelPipeline::onWriteThrew(Context& thrower, std::exception_ptr cause) noexcept {
    Context* const outer = std::exchange(losing_, &thrower);
    thrower.invokeExceptionCaught(std::move(cause));
    losing_ = outer;
}

namespace detail {

void TailHandler::exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) noexcept {
    ChannelPipeline& pipeline = ctx.pipeline();
    // The exceptions of the close are not the thrower's.
    const ChannelHandlerContext* const thrower = std::exchange(pipeline.losing_, nullptr);
    if (pipeline.observer_) {
        pipeline.observer_->unhandledException(cause);
    } else if (thrower != nullptr) {
        logThrownWrite(*thrower, cause);
    } else {
        logUnhandled(ctx.channel(), cause);
    }
    if (thrower != nullptr) pipeline.headHandler_.closeAfterError(std::move(cause));
}

void TailHandler::channelRead(ChannelHandlerContext& ctx, Message&& message) noexcept {
    ChannelPipeline& pipeline = ctx.pipeline();
    if (pipeline.observer_) return pipeline.observer_->unhandledMessage(std::move(message));
    std::string last;
    try {
        last = pipeline.lastReader();
    } catch (const std::bad_alloc&) {  // the message is released all the same
    }
    Message held = std::move(message);
    log(LogLevel::debug, {"a ", held.typeName(), " reached the tail of a pipeline unhandled and was released; ", last,
                          " was the last to pass it on; check the handlers after it and their order"});
    const AnswerLedger::Untaken untaken(ctx.channel().ledger(), last);
    held.reset();
}

void TailHandler::userEventTriggered(ChannelHandlerContext&, Message&& event) noexcept {
    const Message released = std::move(event);
}

void HeadHandler::bind(ChannelHandlerContext&, const SocketAddress& local, ChannelPromise promise) {
    channel_.headBind(local, std::move(promise));
}
void HeadHandler::connect(ChannelHandlerContext&, const SocketAddress& remote, const SocketAddress* local,
                          ChannelPromise promise) {
    channel_.headConnect(remote, local, std::move(promise));
}
void HeadHandler::disconnect(ChannelHandlerContext&, ChannelPromise promise) {
    channel_.headClose(std::move(promise));  // a stream has no disconnect (P-6)
}
void HeadHandler::close(ChannelHandlerContext&, ChannelPromise promise) {
    channel_.headClose(std::move(promise));
}
void HeadHandler::deregister(ChannelHandlerContext&, ChannelPromise promise) {
    channel_.headDeregister(std::move(promise));
}
void HeadHandler::read(ChannelHandlerContext&) {
    channel_.permitRead();
}
void HeadHandler::write(ChannelHandlerContext&, Message&& message, ChannelPromise promise) {
    channel_.headWrite(std::move(message), std::move(promise));
}
void HeadHandler::flush(ChannelHandlerContext&) {
    channel_.headFlush();
}
void HeadHandler::closeAfterError(std::exception_ptr cause) noexcept {
    channel_.closeAfterError(std::move(cause));
}

}  // namespace detail
}  // namespace weft
