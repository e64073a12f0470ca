// SslHandler: encrypts the bytes of a channel by TLS.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/ssl_events.hpp>
#include <weft/pipeline/ssl_session.hpp>
#include <weft/scheduler/scheduled_task.hpp>
#include <weft/tls/ssl_context.hpp>
#include <weft/tls/ssl_context_source.hpp>

namespace weft {

namespace detail {
class SslFilter;
}  // namespace detail

struct SslHandlerOptions {
    // From the connection's begin, or from when the handler is added if that is later: a peer that stops in the
    // handshake holds 77 KiB. 0: no limit.
    Duration handshakeTimeout = std::chrono::seconds(10);
};

// When it is added, it puts a filter between the channel and its transport; no event of data passes the handler
// itself, so its place in the pipeline decides only which handlers get its events. Removing it leaves the channel
// encrypted, and a running handshake without a timeout. The handshake begins with channelActive(), which must reach
// this handler.
// * Writes before the handshake's end wait, in order, and count as pending bytes.
// * After the handshake: SslHandshakeCompletionEvent, then the first decrypted bytes. If it fails: that event, then
//   exceptionCaught() with a SystemError whose code is an SslError (ETIMEDOUT: the handshake's timeout), then a close.
// * A close and a shutdown of the output send a close_notify after all that was flushed, if the transport takes it
//   without a wait; the close does not wait for the peer's.
// * The peer's close_notify: SslCloseCompletionEvent, then the end of the input. An end of the input without it:
//   exceptionCaught() with SslError::truncated, and a close. A connection that ends before its first byte is closed
//   without an exception.
// * shutdownOutput() fails with EAGAIN before the handshake is done, and while the peer has sent half of a key update.
// With AUTO_READ off, the handshake reads by itself, and what it has read beyond waits for a read(). What was written
// and flushed before the channel was active is encrypted; what was written on an active channel before the handler was
// added is not (STARTTLS). Context: the channel's loop, unless noted. What handlerAdded() throws, as
// Channel::addFilter() does, closes the channel.
class SslHandler final : public ChannelInboundHandler {
  public:
    // A server's side. Throws std::invalid_argument for a client's context, or a negative timeout.
    explicit SslHandler(const SslContext& server, SslHandlerOptions options = {});
    explicit SslHandler(const SslContextSource& server, SslHandlerOptions options = {})
        : SslHandler(server.context(), options) {}
    // As above; `received`: bytes that the channel has read and that belong to TLS.
    SslHandler(const SslContext& server, Buffer received, SslHandlerOptions options = {});
    // A client's side; `serverName` as for SslEngine, which may throw. Throws std::invalid_argument for a server's
    // context, too.
    SslHandler(const SslContext& client, std::string serverName, SslHandlerOptions options = {});
    SslHandler(const SslContextSource& client, std::string serverName, SslHandlerOptions options = {})
        : SslHandler(client.context(), std::move(serverName), options) {}

    // Completes when the handshake has; fails with what exceptionCaught() gets, or with ClosedChannelException. Once
    // the handler has been added.
    ChannelFuture handshakeFuture() const noexcept { return handshake_.future(); }
    // Completes with the peer's close_notify; fails with ClosedChannelException when the channel closed without it.
    ChannelFuture closeFuture() const noexcept { return close_.future(); }
    // What was negotiated. Once the handler has been added, as long as the channel.
    const SslSession& session() const noexcept;

    void handlerAdded(ChannelHandlerContext& ctx) override;
    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelActive(ChannelHandlerContext& ctx) override;
    void channelInactive(ChannelHandlerContext& ctx) override;

  private:
    friend class detail::SslFilter;

    void install(ChannelHandlerContext& ctx);
    void start(ChannelHandlerContext& ctx);
    void failFutures();
    // The filter's reports. Handlers may close the channel in them.
    void onHandshake(const ErrorCode& error, const std::exception_ptr& cause) noexcept;
    void onPeerClosed() noexcept;

    const SslContext context_;
    const std::string serverName_;
    const SslHandlerOptions options_;
    Buffer received_;                       // before the handler was added
    ChannelHandlerContext* ctx_ = nullptr;  // null: not in a pipeline
    detail::SslFilter* filter_ = nullptr;   // null: the channel had closed before
    ChannelPromise handshake_;
    ChannelPromise close_;
    ScheduledTask timer_;
    bool started_ = false;
};

}  // namespace weft
