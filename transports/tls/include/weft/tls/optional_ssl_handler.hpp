// OptionalSslHandler: TLS and plain bytes on one port.
#pragma once

#include <weft/pipeline/channel_handler.hpp>
#include <weft/tls/ssl_context.hpp>
#include <weft/tls/ssl_context_source.hpp>
#include <weft/tls/ssl_handler.hpp>

namespace weft {

// A server's first handler. The first received byte decides: if a TLS handshake begins with it, an SslHandler takes
// this handler's place; otherwise the handler removes itself, and the connection stays plain. So it is for protocols in
// which clients speak first. Later, pipeline().get<SslHandler>() tells what was decided: it is null on a plain
// connection. It waits for the first byte without a limit, unless another handler sets one. Context: the channel's
// loop.
class OptionalSslHandler final : public ChannelInboundHandler {
  public:
    // `options`: those of the SslHandler. Throws std::invalid_argument as SslHandler's constructor.
    explicit OptionalSslHandler(const SslContext& server, SslHandlerOptions options = {});
    explicit OptionalSslHandler(const SslContextSource& server, SslHandlerOptions options = {})
        : OptionalSslHandler(server.context(), options) {}

    void handlerRemoved(ChannelHandlerContext&) override { removed_ = true; }
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;

  private:
    void secure(ChannelHandlerContext& ctx, Buffer&& received);

    const SslContext context_;
    const SslHandlerOptions options_;
    bool removed_ = false;
};

}  // namespace weft
