#include <weft/tls/application_protocol_negotiation_handler.hpp>

#include <exception>
#include <stdexcept>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/context_pin.hpp>
#include <weft/pipeline/ssl_events.hpp>
#include <weft/tls/ssl_handler.hpp>

namespace weft {

// The handlers that were added get the event, too.
void ApplicationProtocolNegotiationHandler::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    if (!event.is<SslHandshakeCompletionEvent>()) return ctx.fireUserEventTriggered(std::move(event));
    const ErrorCode error = event.get<SslHandshakeCompletionEvent>().error;
    const ContextPin pin(ctx);
    try {
        error ? handshakeFailed(ctx, error) : configure(ctx);
        ctx.fireUserEventTriggered(std::move(event));
    } catch (...) {
        ctx.fireExceptionCaught(std::current_exception());
        ctx.close(ChannelPromise());
    }
    if (!removed_) ctx.channel().pipeline().remove(*this);
}

void ApplicationProtocolNegotiationHandler::configure(ChannelHandlerContext& ctx) {
    const SslHandler* const tls = ctx.channel().pipeline().get<SslHandler>();
    if (tls == nullptr) throw std::logic_error("ApplicationProtocolNegotiationHandler: no SslHandler before it");
    const std::string_view chosen = tls->session().applicationProtocol();
    configurePipeline(ctx, chosen.empty() ? std::string_view(fallback_) : chosen);
}

}  // namespace weft
