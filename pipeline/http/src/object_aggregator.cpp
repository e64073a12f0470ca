#include <weft/http/object_aggregator.hpp>

#include <stdexcept>
#include <string>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>

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
    refused_ = false;
    const RequestHead& head = message.get<Request>().head();
    if (head.hasBody() || head.expectUnknown) [[unlikely]]
        return collect(ctx, std::move(message));
    message.emplace<FullRequest>(std::move(message.take<Request>().data_));
    ctx.fireChannelRead(std::move(message));
}

[[gnu::noinline]] void ObjectAggregator::channelReadSlow(ChannelHandlerContext& ctx, Message&& message) {
    if (message.is<Content>()) {
        if (!refused_) append(std::move(message.get<Content>().data));
        requestMore(ctx);
    } else if (message.is<LastContent>()) {
        if (!refused_ && collecting()) {
            request_.data_->trailers = std::move(message.get<LastContent>().trailers);
            ctx.fireChannelRead(Message(FullRequest(std::move(request_.data_))));
        }
        drop();
    } else if (message.is<BodyCut>()) {
        drop();
    } else {
        ctx.fireChannelRead(std::move(message));
    }
}

[[gnu::noinline]] void ObjectAggregator::collect(ChannelHandlerContext& ctx, Message&& message) {
    Request request = message.take<Request>();  // if something throws here, it is answered with 500
    const RequestHead& head = request.head();
    if (head.expectUnknown) return refuse(request, Status::expectationFailed, "only 100-continue is supported");
    if (head.bodyKind == BodyKind::length && head.contentLength > maxBodyBytes_) {
        return refuse(request, Status::contentTooLarge, "the body is larger than this server accepts");
    }
    if (head.expectContinue) {
        Response goOn(Status::continue_);
        detail::Tickets::set(goOn, request.ticket());
        ctx.writeAndFlush(Message(std::move(goOn)));
    }
    drop();
    request_ = std::move(request);
    requestMore(ctx);
}

// with AUTO_READ off, handlers call read() once for a whole request; the aggregator calls it for the pieces.
void ObjectAggregator::requestMore(ChannelHandlerContext& ctx) {
    if (!ctx.channel().config().autoRead) ctx.read();
}

void ObjectAggregator::append(Buffer&& data) {
    if (!collecting()) return;
    Buffer& body = request_.data_->body;
    if (body.readableBytes() + data.readableBytes() > maxBodyBytes_) {
        refuse(request_, Status::contentTooLarge, "the body is larger than this server accepts");
        drop();
    } else if (body.empty()) {
        body = std::move(data);
        weft::detail::compact(body);  // a body that comes slowly must not keep a large block
    } else {
        try {
            body.append(data.view());
        } catch (...) {  // the request is answered with 500, so that a body with a missing piece does not look complete
            refused_ = true;
            drop();
            throw;
        }
    }
}

// Does not wait for the rest of the body: the codec closes the connection after this response.
void ObjectAggregator::refuse(Request& request, Status status, std::string_view reason) {
    refused_ = true;
    Response response = error(status, reason);
    response.keepAlive = false;
    request.responder().send(std::move(response));
}

}  // namespace weft::http
