#include <weft/http/response_aggregator.hpp>

#include <stdexcept>
#include <string>

#include <weft/http/client_codec.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>

namespace weft::http {

namespace {

std::exception_ptr tooLarge() {
    return std::make_exception_ptr(
        BadResponseException({Status::badGateway, "the response body is larger than this client accepts"}));
}

}  // namespace

ResponseAggregator::ResponseAggregator(std::size_t maxBodyBytes) : maxBodyBytes_(maxBodyBytes) {
    constexpr std::size_t most = std::size_t{2} << 30;
    if (maxBodyBytes > most) {
        throw std::invalid_argument("ResponseAggregator: maxBodyBytes is " + std::to_string(maxBodyBytes) +
                                    "; accepted: 0 to " + std::to_string(most));
    }
}

void ResponseAggregator::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (message.is<ReceivedResponse>()) {
        begin(ctx, message.take<ReceivedResponse>());
    } else if (message.is<Content>()) {
        append(ctx, std::move(message.get<Content>().data));
        requestMore(ctx);
    } else if (message.is<LastContent>()) {
        if (!response_) return;
        detail::ResponseDataPointer data = std::move(response_->data_);
        response_.reset();
        data->trailers = std::move(message.get<LastContent>().trailers);
        ctx.fireChannelRead(Message(FullResponse(std::move(data))));
    } else {
        ctx.fireChannelRead(std::move(message));
    }
}

void ResponseAggregator::begin(ChannelHandlerContext& ctx, ReceivedResponse&& response) {
    const ReceivedHead& head = response.head();
    if (!head.hasBody()) return ctx.fireChannelRead(Message(FullResponse(std::move(response.data_))));
    if (head.bodyKind == BodyKind::length && head.contentLength > maxBodyBytes_) return refuse(ctx, tooLarge());
    response_.emplace(std::move(response));
    requestMore(ctx);
}

// with AUTO_READ off, handlers call read() once for a whole response; the aggregator calls it for the pieces.
void ResponseAggregator::requestMore(ChannelHandlerContext& ctx) {
    if (!ctx.channel().config().autoRead) ctx.read();
}

void ResponseAggregator::append(ChannelHandlerContext& ctx, Buffer&& data) {
    if (!response_) return;
    Buffer& body = response_->data_->body;
    if (data.readableBytes() > maxBodyBytes_ - body.readableBytes()) {
        refuse(ctx, tooLarge());
    } else if (body.empty()) {
        body = std::move(data);
        weft::detail::compact(body);  // a body that comes slowly must not keep a large block
    } else {
        try {
            body.append(data.view());
        } catch (...) {  // a body with a missing piece must not look complete
            refuse(ctx, std::current_exception());
        }
    }
}

void ResponseAggregator::refuse(ChannelHandlerContext& ctx, std::exception_ptr why) {
    response_.reset();
    ctx.fireExceptionCaught(std::move(why));
    ctx.close();
}

}  // namespace weft::http
