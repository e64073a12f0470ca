#include <weft/tls/ssl_handler.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/context_pin.hpp>
#include <weft/tls/ssl_engine.hpp>

#include "ssl_filter.hpp"

namespace weft {

namespace {

const SslContext& checked(const SslContext& context, bool server, const SslHandlerOptions& options) {
    if (context.isServer() != server) {
        throw std::invalid_argument(server
                                        ? "SslHandler: the context is a client's; a client needs the server's name, too"
                                        : "SslHandler: the context is a server's, which takes no server name");
    }
    if (options.handshakeTimeout < Duration::zero())
        throw std::invalid_argument("SslHandler: handshakeTimeout is negative; accepted: 0 (no limit) or more");
    return context;
}

}  // namespace

SslHandler::SslHandler(const SslContext& server, SslHandlerOptions options)
    : context_(checked(server, true, options)), options_(options) {}

SslHandler::SslHandler(const SslContext& server, Buffer received, SslHandlerOptions options)
    : context_(checked(server, true, options)), options_(options), received_(std::move(received)) {}

SslHandler::SslHandler(const SslContext& client, std::string serverName, SslHandlerOptions options)
    : context_(checked(client, false, options)), serverName_(std::move(serverName)), options_(options) {
    const SslEngine thrownAway(context_, serverName_);  // throws for a name that cannot be verified
}

const SslSession& SslHandler::session() const noexcept {
    WEFT_ASSERT(filter_ != nullptr, "SslHandler::session(): the handler is in no open channel");
    return filter_->engine();
}

// A handler that cannot be added must not leave a channel without encryption behind.
void SslHandler::handlerAdded(ChannelHandlerContext& ctx) {
    if (ctx.channel().closed()) return;
    try {
        install(ctx);
    } catch (...) {
        ctx.close(ChannelPromise());
        throw;
    }
}

void SslHandler::install(ChannelHandlerContext& ctx) {
    Channel& channel = ctx.channel();
    handshake_ = ctx.newPromise();
    close_ = ctx.newPromise();
    ctx_ = &ctx;
    std::unique_ptr<detail::SslFilter> filter = context_.isServer()
                                                    ? std::make_unique<detail::SslFilter>(*this, context_)
                                                    : std::make_unique<detail::SslFilter>(*this, context_, serverName_);
    filter_ = filter.get();  // received bytes may call back
    try {
        channel.addFilter(std::move(filter), std::move(received_));
    } catch (...) {
        filter_ = nullptr;
        throw;
    }
    if (channel.active()) start(ctx);
}

void SslHandler::handlerRemoved(ChannelHandlerContext&) {
    if (filter_ != nullptr) filter_->forgetOwner();
    ctx_ = nullptr;
    failFutures();
}

// Of a connection that ends, the usual one has none.
void SslHandler::failFutures() {
    if (handshake_.done() && close_.done()) return;
    const std::exception_ptr cause = std::make_exception_ptr(ClosedChannelException());
    handshake_.tryFailure(cause);
    close_.tryFailure(cause);
}

void SslHandler::channelActive(ChannelHandlerContext& ctx) {
    start(ctx);
    ctx.fireChannelActive();
}

void SslHandler::start(ChannelHandlerContext& ctx) {
    if (std::exchange(started_, true) || filter_ == nullptr) return;
    if (options_.handshakeTimeout > Duration::zero())
        timer_ = ctx.schedule([this] { filter_->timeOut(); }, options_.handshakeTimeout);
    filter_->begin();
}

void SslHandler::channelInactive(ChannelHandlerContext& ctx) {
    if (!handshake_.done()) {
        const ClosedChannelException closed;
        onHandshake(closed.code(), std::make_exception_ptr(closed));
    }
    failFutures();
    ctx.fireChannelInactive();
}

void SslHandler::onHandshake(const ErrorCode& error, const std::exception_ptr& cause) noexcept {
    if (ctx_ == nullptr) return;
    const ContextPin pin(*ctx_);  // a listener may remove this handler
    timer_.cancel();
    cause ? handshake_.tryFailure(cause) : handshake_.trySuccess();
    if (ctx_ != nullptr) ctx_->fireUserEventTriggered(Message(SslHandshakeCompletionEvent{error}));
}

void SslHandler::onPeerClosed() noexcept {
    if (ctx_ == nullptr) return;
    const ContextPin pin(*ctx_);
    close_.trySuccess();
    if (ctx_ != nullptr) ctx_->fireUserEventTriggered(Message(SslCloseCompletionEvent{}));
}

}  // namespace weft
