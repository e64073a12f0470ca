// The inbound half of the codec: bytes to requests.
#include <weft/pipeline/http/server_codec.hpp>

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

#include "http/trailers.hpp"

namespace weft::http {

namespace {

// Bytes of a Content. More may have gathered while nothing was decoded, and whoever passes a body on should be able to
// stop inside.
constexpr std::size_t longestPiece = 64 * 1024;

}  // namespace

void ServerCodec::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (!message.is<Buffer>()) return ctx.fireChannelRead(std::move(message));
    if (expects_ == Input::ended) return;  // thrown away, so that our answers are not lost to a reset
    if (expects_ == Input::switched) return ctx.fireChannelRead(std::move(message));
    Buffer& bytes = message.get<Buffer>();
    if (input_.empty()) [[likely]] {
        input_ = std::move(bytes);
    } else {
        input_.append(bytes.view());
    }
    if (!paused_) decode();
}

[[gnu::always_inline]] inline void ServerCodec::deliverHead() {
    fired_ = true;
    if (patience_.waiting()) [[unlikely]]
        patience_.satisfied();
    parser_.reset();
    detail::RequestDataPointer data = std::move(next_);
    data->takeHead(input_);
    if (input_.empty()) input_ = Buffer();
    const RequestHead& head = data->head;
    data->channel = ChannelRef(ctx_->channel());
    ResponseSlot& slot = slots_.add();
    slot.version = head.version;
    slot.method = head.method;
    slot.keepAlive = head.keepAlive;
    slot.upgrade = head.upgrade;
    data->ticket = slots_.backTicket();
    lastKeepAlive_ = head.keepAlive;
    asksSwitch_ = head.upgrade || head.method == Method::connect;
    if (head.hasBody()) {
        body_.start(head);
        bodyTicket_ = data->ticket;
        expects_ = Input::body;
        owesContinue_ = head.expectContinue;
    } else {
        endRequest();
    }
    ctx_->fireChannelRead(Message(Request(std::move(data))));
}

inline bool ServerCodec::decodeHead() {
    if (!next_) next_ = detail::makeRequestData();
    switch (parser_.parse(input_.view(), next_->head)) {
        case Verdict::needMore:
            return false;
        case Verdict::error:
            slots_.add().keepAlive = false;
            refuse(slots_.backTicket(), parser_.refusal());
            return false;
        case Verdict::complete:
            break;
    }
    deliverHead();
    return true;
}

// Handlers may answer, close or remove this codec inside; an inner call leaves the work to the outer one.
void ServerCodec::decode() {
    if (decoding_) return;
    decoding_ = true;
    second_ = 0;
    while (ctx_ != nullptr && expects_ != Input::ended && !input_.empty()) {
        const bool held = blocked_ || crowded_ || expects_ == Input::undecided;
        if ((held || slots_.size() >= maxInFlight_) && !mayDecode()) [[unlikely]] {
            paused_ = true;
            break;
        }
        if (!(expects_ == Input::head ? decodeHead() : decodeBody())) break;
    }
    decoding_ = false;
    if (expects_ == Input::ended) {
        input_ = Buffer();
    } else if (!input_.empty() || expects_ == Input::body) [[unlikely]] {
        awaitRest();
    }
}

// A head or body has begun to come. What waits here although it has come is not the client's fault.
void ServerCodec::awaitRest() {
    if (ctx_ == nullptr || paused_) return;
    if (expects_ == Input::body) {
        if (!patience_.awaitsBody()) patience_.awaitBody();
    } else if (!patience_.awaitsHead()) {
        patience_.awaitHead();
    }
}

// Room for what the next bytes may cause: an answer to a request, or to a piece of a body (an echo, a proxy).
bool ServerCodec::mayDecode() {
    if (expects_ == Input::undecided || crowded_) return false;
    if (expects_ == Input::head && slots_.size() >= maxInFlight_) return false;
    if (!blocked_ || (looking_ && slots_.empty())) return true;
    if (flushWanted_) onFlushPoint();  // the socket may take it at once
    return ctx_ != nullptr && !blocked_;
}

bool ServerCodec::decodeBody() {
    const BodyStep step = body_.decode(input_.view().substr(0, longestPiece));
    Buffer data;
    if (step.event == BodyEvent::data) {
        data = input_.slice(static_cast<std::size_t>(step.data.data() - input_.readData()), step.data.size());
    }
    input_.consumed(step.consumed);
    owesContinue_ = false;  // it has not waited
    switch (step.event) {
        case BodyEvent::error:
            cutBody(body_.refusal());
            return false;
        case BodyEvent::needMore:
            return !input_.empty();
        case BodyEvent::data:
            patience_.noteBody(data.readableBytes());
            ctx_->fireChannelRead(Message(Content{std::move(data), bodyTicket_}));
            break;
        case BodyEvent::end:
            break;
    }
    if (ctx_ == nullptr || expects_ != Input::body) return false;
    fired_ = true;
    if (body_.finished()) {
        if (patience_.waiting()) patience_.satisfied();
        endRequest();
        ctx_->fireChannelRead(Message(LastContent{bodyTicket_, detail::trailersOf(body_)}));
    }
    return true;
}

// The next byte begins another request, unless this one was to be the last. At the last look one more is enough for a
// peer that does not take its answers.
void ServerCodec::endRequest() {
    const bool more = !draining_ || (looking_ && !blocked_);
    expects_ = lastKeepAlive_ && more ? Input::head : Input::ended;
    if (asksSwitch_ && expects_ == Input::head) [[unlikely]] {
        expects_ = Input::undecided;
        if (slots_.empty()) decideProtocol();  // it has been answered before its body was complete
    }
}

// The handler hears of it after the client: what it would answer comes too late.
void ServerCodec::cutBody(const Refusal& refusal) {
    refuse(bodyTicket_, refusal);
    if (ctx_ != nullptr) ctx_->fireChannelRead(Message(BodyCut{bodyTicket_, refusal.reason}));
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

// An answer has made room below maxInFlight, or the peer has taken enough.
void ServerCodec::resumeReading() {
    if (ctx_ == nullptr || !paused_ || (expects_ != Input::ended && !mayDecode())) return;
    paused_ = false;
    if (!decoding_ && !input_.empty()) {
        decode();
        if (ctx_ != nullptr) ctx_->fireChannelReadComplete();
    }
    if (ctx_ == nullptr || paused_) return;
    if (inputShutdown_ && expects_ != Input::ended) return endOfRequests();
    if (std::exchange(readWanted_, false)) readOn(*ctx_);
}

}  // namespace weft::http
