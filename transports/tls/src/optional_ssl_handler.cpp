#include <weft/tls/optional_ssl_handler.hpp>

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/context_pin.hpp>

namespace weft {

namespace {

// RFC 8446, section 5.1: the type of a record that carries a handshake.
bool beginsHandshake(const Buffer& bytes) noexcept {
    constexpr char handshakeRecord = 22;
    return bytes.view().front() == handshakeRecord;
}

}  // namespace

OptionalSslHandler::OptionalSslHandler(const SslContext& server, SslHandlerOptions options)
    : context_(server), options_(options) {
    const SslHandler thrownAway(context_, options_);  // throws for what it does not accept
}

void OptionalSslHandler::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    Buffer* const bytes = message.getIf<Buffer>();
    if (bytes == nullptr || bytes->empty()) return ctx.fireChannelRead(std::move(message));
    const ContextPin pin(ctx);  // both ways end this handler
    if (beginsHandshake(*bytes)) return secure(ctx, std::move(*bytes));
    ctx.fireChannelRead(std::move(message));
    if (!removed_) ctx.channel().pipeline().remove(*this);
}

// Without the first bytes the rest would look plain.
void OptionalSslHandler::secure(ChannelHandlerContext& ctx, Buffer&& received) {
    try {
        ctx.channel().pipeline().replace<SslHandler>(*this, context_, std::move(received), options_);
    } catch (...) {
        ctx.close(ChannelPromise());
        throw;
    }
}

}  // namespace weft
