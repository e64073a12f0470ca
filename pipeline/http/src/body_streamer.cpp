#include <weft/http/body_streamer.hpp>

#include <weft/http/detail/body_collector.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

namespace weft::http {

void BodyStreamer::handlerRemoved(ChannelHandlerContext&) {
    feed_.cut("its handler was removed");
}

void BodyStreamer::channelInactive(ChannelHandlerContext& ctx) {
    feed_.cut("the connection was closed");
    ctx.fireChannelInactive();
}

void BodyStreamer::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (message.is<Request>()) {
        Request request = message.take<Request>();
        if (request.head().expectUnknown) {
            constexpr Refusal unknown = detail::BodyCollector::unknownExpectation;
            Response refusal = error(unknown.status, unknown.reason);
            refusal.keepAlive = false;
            return request.responder().send(std::move(refusal));
        }
        BodyReader body = request.hasBody()
                              ? feed_.begin(ctx.channel(), request.ticket(), request.head().expectContinue)
                              : BodyReader();
        ctx.fireChannelRead(Message(StreamedRequest(std::move(request), std::move(body))));
    } else if (message.is<ReceivedResponse>()) {
        ReceivedResponse response = message.take<ReceivedResponse>();
        BodyReader body = response.hasBody() ? feed_.begin(ctx.channel(), response.ticket(), false) : BodyReader();
        ctx.fireChannelRead(Message(StreamedResponse(std::move(response), std::move(body))));
    } else if (message.is<Content>()) {
        feed_.put(std::move(message.get<Content>().data));
    } else if (message.is<LastContent>()) {
        feed_.end(std::move(message.get<LastContent>().trailers));
    } else if (message.is<BodyCut>()) {
        feed_.cut(message.get<BodyCut>().reason);
    } else {
        ctx.fireChannelRead(std::move(message));
    }
}

void BodyStreamer::read(ChannelHandlerContext& ctx) {
    if (!feed_.withholdsRead()) ctx.read();
}

}  // namespace weft::http
