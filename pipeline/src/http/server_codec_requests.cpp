// The inbound half of the codec: bytes to requests.
#include <weft/pipeline/http/server_codec.hpp>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

namespace weft::http {

void ServerCodec::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (!message.is<Buffer>()) return ctx.fireChannelRead(std::move(message));
    if (expects_ == Input::ended) return;  // thrown away, so that our answers are not lost to a reset
    Buffer bytes = message.take<Buffer>();
    if (input_.empty()) {
        input_ = std::move(bytes);
    } else {
        input_.append(bytes.view());
    }
    decode();
}

// Handlers may answer, close or remove this codec inside; an inner call leaves the work to the outer one.
void ServerCodec::decode() {
    if (decoding_) return;
    decoding_ = true;
    while (ctx_ != nullptr && expects_ != Input::ended && !input_.empty()) {
        if (!(expects_ == Input::head ? decodeHead() : decodeBody())) break;
    }
    decoding_ = false;
    if (expects_ == Input::ended) input_ = Buffer();
}

bool ServerCodec::decodeHead() {
    if (slots_.size() >= options_.maxInFlight) {
        paused_ = true;
        return false;
    }
    switch (parser_.parse(input_.view())) {
        case Verdict::needMore:
            return false;
        case Verdict::error:
            slots_.add({.keepAlive = false});
            refuse(slots_.frontTicket() + slots_.size() - 1, parser_.refusal());
            return false;
        case Verdict::complete:
            break;
    }
    deliverHead();
    return true;
}

void ServerCodec::deliverHead() {
    detail::RequestDataPointer data = detail::makeRequestData();
    const RequestHead& head = data->head = parser_.head();
    parser_.reset();
    if (head.consumed == input_.readableBytes()) {
        data->bytes = std::move(input_);
    } else {
        data->bytes = input_.slice(0, head.consumed);
        input_.consumed(head.consumed);
    }
    data->channel = ChannelRef(ctx_->channel());
    data->ticket = slots_.add({.version = head.version, .method = head.method, .keepAlive = head.keepAlive});
    lastKeepAlive_ = head.keepAlive;
    if (head.hasBody()) {
        body_.start(head);
        bodyTicket_ = data->ticket;
        expects_ = Input::body;
    } else {
        endRequest();
    }
    ctx_->fireChannelRead(Message(Request(std::move(data))));
}

bool ServerCodec::decodeBody() {
    const BodyStep step = body_.decode(input_.view());
    Buffer data;
    if (step.event == BodyEvent::data) {
        data = input_.slice(static_cast<std::size_t>(step.data.data() - input_.readData()), step.data.size());
    }
    input_.consumed(step.consumed);
    switch (step.event) {
        case BodyEvent::error:
            refuse(bodyTicket_, body_.refusal());
            return false;
        case BodyEvent::needMore:
            return false;
        case BodyEvent::data:
            ctx_->fireChannelRead(Message(Content{std::move(data), bodyTicket_}));
            break;
        case BodyEvent::end:
            break;
    }
    if (ctx_ == nullptr || expects_ != Input::body) return false;
    if (body_.finished()) {
        endRequest();
        ctx_->fireChannelRead(Message(LastContent{bodyTicket_}));
    }
    return true;
}

// The next byte begins another request, unless this one was to be the last.
void ServerCodec::endRequest() {
    expects_ = lastKeepAlive_ && !draining_ ? Input::head : Input::ended;
}

// Answers a malformed request in its turn and closes; the place where another would begin is not known.
void ServerCodec::refuse(Ticket ticket, const Refusal& refusal) {
    expects_ = Input::ended;
    ResponseSlot* slot = slots_.find(ticket);
    if (slot == nullptr || slot->answered) {
        // The application has answered already, and perhaps completely: nothing can be said any more.
        draining_ = true;
        if (slot == nullptr && slots_.empty() && !closing_) closeAfterResponse();
        return;
    }
    Response response = error(refusal.status, refusal.reason);
    response.ticket = ticket;
    response.keepAlive = false;
    accept(Message(std::move(response)), {});
    if (ctx_ != nullptr) flush(*ctx_);
}

// An answer has made room below maxInFlight.
void ServerCodec::resumeReading() {
    if (ctx_ == nullptr || !paused_ || (slots_.size() >= options_.maxInFlight && expects_ != Input::ended)) return;
    paused_ = false;
    if (!decoding_ && !input_.empty()) {
        decode();
        if (ctx_ != nullptr) ctx_->fireChannelReadComplete();
    }
    if (ctx_ != nullptr && !paused_ && readWanted_) {
        readWanted_ = false;
        ctx_->read();
    }
}

}  // namespace weft::http
