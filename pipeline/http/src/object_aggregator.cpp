#include <weft/http/object_aggregator.hpp>

#include <stdexcept>
#include <string>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

namespace weft::http {

ObjectAggregator::ObjectAggregator(std::size_t maxBodyBytes) : maxBodyBytes_(static_cast<std::uint32_t>(maxBodyBytes)) {
    constexpr std::size_t most = std::size_t{2} << 30;
    if (maxBodyBytes > most) {
        throw std::invalid_argument("ObjectAggregator: maxBodyBytes is " + std::to_string(maxBodyBytes) +
                                    "; accepted: 0 to " + std::to_string(most));
    }
}

void ObjectAggregator::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (!message.is<Request>()) [[unlikely]]
        return channelReadSlow(ctx, std::move(message));
    const RequestHead& head = message.get<Request>().head();
    if (head.hasBody() || head.expectUnknown) [[unlikely]]
        return collect(ctx, std::move(message));
    message.emplace<FullRequest>(detail::BodyCollector::whole(message.take<Request>()));
    ctx.fireChannelRead(std::move(message));
}

[[gnu::noinline]] void ObjectAggregator::channelReadSlow(ChannelHandlerContext& ctx, Message&& message) {
    if (message.is<Content>()) {
        if (collector_.holds()) append(std::move(message.get<Content>().data));
        requestMore(ctx);
    } else if (message.is<LastContent>()) {
        if (collector_.holds())
            ctx.fireChannelRead(Message(collector_.end(std::move(message.get<LastContent>().trailers))));
    } else if (message.is<BodyCut>()) {
        collector_.drop();
    } else {
        ctx.fireChannelRead(std::move(message));
    }
}

[[gnu::noinline]] void ObjectAggregator::collect(ChannelHandlerContext& ctx, Message&& message) {
    Request request = message.take<Request>();  // if something throws here, it is answered with 500
    if (const auto refusal = detail::BodyCollector::refusalOf(request.head(), maxBodyBytes_))
        return refuse(request, *refusal);
    if (request.head().expectContinue) {
        Response goOn(Status::continue_);
        detail::Tickets::set(goOn, request.ticket());
        ctx.writeAndFlush(Message(std::move(goOn)));
    }
    collector_.begin(std::move(request));
    requestMore(ctx);
}

// with AUTO_READ off, handlers call read() once for a whole request; the aggregator calls it for the pieces.
void ObjectAggregator::requestMore(ChannelHandlerContext& ctx) {
    if (!ctx.channel().config().autoRead) ctx.read();
}

void ObjectAggregator::append(Buffer&& data) {
    if (collector_.append(std::move(data), maxBodyBytes_)) return;
    const Request refused = collector_.take();
    refuse(refused, detail::BodyCollector::tooLarge);
}

// Does not wait for the rest of the body: the codec closes the connection after this response.
void ObjectAggregator::refuse(const Request& request, const Refusal& refusal) {
    Response response = error(refusal.status, refusal.reason);
    response.keepAlive = false;
    request.responder().send(std::move(response));
}

}  // namespace weft::http
