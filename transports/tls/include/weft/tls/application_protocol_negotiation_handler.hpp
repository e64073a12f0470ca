// ApplicationProtocolNegotiationHandler: completes a pipeline once TLS has chosen the application protocol (ALPN).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft {

// Stands behind an SslHandler. When the handshake is done, it calls configurePipeline(), which adds the handlers of the
// protocol, and removes itself; no decrypted byte comes before that. Context: the channel's loop.
class ApplicationProtocolNegotiationHandler : public ChannelInboundHandler {
  public:
    // `fallback`: the protocol if none was negotiated, as with a client that does not know ALPN.
    explicit ApplicationProtocolNegotiationHandler(std::string fallback) : fallback_(std::move(fallback)) {}

    void handlerRemoved(ChannelHandlerContext&) override { removed_ = true; }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override;

  protected:
    // What it throws goes to exceptionCaught() of the handlers behind this one, and the channel is closed. It may close
    // the channel and remove this handler.
    virtual void configurePipeline(ChannelHandlerContext& ctx, std::string_view protocol) = 0;
    // The SslHandler closes the channel then.
    virtual void handshakeFailed(ChannelHandlerContext& ctx, const ErrorCode& error) {
        static_cast<void>(ctx), static_cast<void>(error);
    }

  private:
    void configure(ChannelHandlerContext& ctx);

    const std::string fallback_;
    bool removed_ = false;
};

}  // namespace weft
