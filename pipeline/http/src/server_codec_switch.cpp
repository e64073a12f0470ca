// Switching the protocol: another protocol takes over the connection (RFC 9110, 7.8 and 9.3.6).
#include <weft/http/server_codec.hpp>

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_option.hpp>

namespace weft::http {

// The request that asked for another protocol has been read and answered. Unless the response granted it, HTTP
// continues. Switches in a task, so that no handler finds its pipeline changed when its write returns. Until then the
// input waits.
void ServerCodec::decideProtocol() {
    if (writer_.switching() == noTicket) return reader_.expect(Input::head);
    reader_.pause();
    connection_.ctx->flush();
    connection_.ctx->loop().execute([channel = ChannelRef(connection_.ctx->channel())] {
        channel->pipeline().fireUserEventTriggered(Message(detail::SwitchDue{}));
    });
}

void ServerCodec::switchProtocol() {
    if (connection_.ctx == nullptr || reader_.expects() != Input::undecided) return;
    reader_.expect(Input::switched);
    connection_.slowPath.paused = false;
    timeouts_.end();
    restoreHalfClosure();
    if (connection_.ctx == nullptr) return;
    connection_.ctx->fireUserEventTriggered(Message(ProtocolSwitched{writer_.switching()}));
    if (connection_.ctx != nullptr) passInputOn();
    if (connection_.ctx != nullptr && reader_.takeWithheldRead()) connection_.ctx->read();
}

// Passes on the bytes after the last request, and the end of the input.
void ServerCodec::passInputOn() {
    ChannelHandlerContext& ctx = *connection_.ctx;  // the handler that gets the bytes may remove this codec (H-6)
    if (reader_.hasInput() && reader_.expects() != Input::ended) {
        ctx.fireChannelRead(Message(reader_.takeInput()));
        ctx.fireChannelReadComplete();
    }
    if (!std::exchange(connection_.inputShutdown, false)) return;
    if (connection_.hadHalfClosure) {
        ctx.fireUserEventTriggered(Message(InputShutdownEvent{}));
    } else {
        ctx.close();
    }
}

void ServerCodec::restoreHalfClosure() {
    connection_.ctx->channel().setOption(ChannelOption::ALLOW_HALF_CLOSURE, connection_.hadHalfClosure);
}

}  // namespace weft::http
