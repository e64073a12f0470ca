#include <weft/http/body_streamer.hpp>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

#include "streamed_body.hpp"

namespace weft::http {

using detail::StreamedBodies;
using detail::StreamedBody;

BodyStreamer::BodyStreamer() : bodies_(std::make_shared<StreamedBodies>()) {}

BodyStreamer::~BodyStreamer() {
    cut("its handler was destroyed");
}

void BodyStreamer::handlerRemoved(ChannelHandlerContext&) {
    cut("its handler was removed");
}

void BodyStreamer::channelInactive(ChannelHandlerContext& ctx) {
    cut("the connection was closed");
    ctx.fireChannelInactive();
}

void BodyStreamer::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (message.is<Request>()) {
        Request request = message.take<Request>();
        if (request.head().expectUnknown) {
            Response refusal = error(Status::expectationFailed, "only 100-continue is supported");
            refusal.keepAlive = false;
            return request.responder().send(std::move(refusal));
        }
        BodyReader body =
            request.hasBody() ? begin(ctx, request.ticket(), request.head().expectContinue) : BodyReader();
        ctx.fireChannelRead(Message(StreamedRequest(std::move(request), std::move(body))));
    } else if (message.is<ReceivedResponse>()) {
        ReceivedResponse response = message.take<ReceivedResponse>();
        BodyReader body = response.hasBody() ? begin(ctx, response.ticket(), false) : BodyReader();
        ctx.fireChannelRead(Message(StreamedResponse(std::move(response), std::move(body))));
    } else if (message.is<Content>()) {
        put(std::move(message.get<Content>().data));
    } else if (message.is<LastContent>()) {
        end(std::move(message.get<LastContent>().trailers));
    } else if (message.is<BodyCut>()) {
        cut(message.get<BodyCut>().reason);
    } else {
        ctx.fireChannelRead(std::move(message));
    }
}

BodyReader BodyStreamer::begin(ChannelHandlerContext& ctx, Ticket ticket, bool continueDue) {
    current_ = std::make_shared<StreamedBody>(bodies_, ctx.channel(), ticket, continueDue);
    return BodyReader(current_);
}

// Cuts the body after an error, so that a body with a missing piece does not look complete.
void BodyStreamer::put(Buffer&& data) {
    if (!current_) return;
    try {
        current_->readers.changeAndWakeAll(bodies_->lock, [&] {
            if (current_->abandoned) return;
            const std::size_t before = current_->pieces.held();
            current_->pieces.put(std::move(data));
            bodies_->held += current_->pieces.held() - before;
        });
    } catch (...) {
        cut("there was not enough memory for its next piece");
        throw;
    }
}

void BodyStreamer::end(std::unique_ptr<HeaderList> trailers) {
    if (!current_) return;
    current_->readers.changeAndWakeAll(bodies_->lock, [&] {
        current_->ended = true;
        current_->trailers = std::move(trailers);
    });
    current_.reset();
}

// Pieces that have arrived can still be read.
void BodyStreamer::cut(std::string_view reason) {
    if (!current_) return;
    current_->readers.changeAndWakeAll(bodies_->lock, [&] {
        current_->cut = true;
        current_->cutReason = reason;
    });
    current_.reset();
}

void BodyStreamer::read(ChannelHandlerContext& ctx) {
    {
        std::lock_guard held(bodies_->lock);
        if (bodies_->held >= BodyReader::highMark) {
            bodies_->withheld = true;
            return;
        }
    }
    ctx.read();
}

}  // namespace weft::http
