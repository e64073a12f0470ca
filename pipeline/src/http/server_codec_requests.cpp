// The inbound half of the codec: bytes to requests.
#include <weft/pipeline/http/server_codec.hpp>

#include <memory>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>

#include "http/trailers.hpp"
#include "tail_release.hpp"

namespace weft::http {

namespace {

// Bytes of a Content. More may have gathered while nothing was decoded, and whoever passes a body on should be able to
// stop inside.
constexpr std::size_t longestPiece = 64 * 1024;

}  // namespace

void ServerCodec::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (!message.is<Buffer>() || expects_ >= Input::switched) [[unlikely]] {
        // What comes behind our end is thrown away, so that our answers are not lost to a reset.
        const bool late = message.is<Buffer>() && expects_ == Input::ended;
        return late ? message.reset() : ctx.fireChannelRead(std::move(message));
    }
    if (input_.empty()) [[likely]] {
        input_ = message.take<Buffer>();
    } else {
        input_.append(message.get<Buffer>().view());
    }
    if (!special_.paused) decode();
}

// What comes behind a head, unless it is another head for sure.
[[gnu::noinline]] void ServerCodec::expectBehind(const detail::RequestData& data) {
    const RequestHead& head = data.head;
    if (head.upgrade || head.method == Method::connect) special_.asksSwitch = true;
    if (head.hasBody()) {
        body_.start(head);
        bodyTicket_ = data.ticket;
        expects_ = Input::body;
        special_.owesContinue = head.expectContinue;
    } else if (special_.any() || !head.keepAlive) {
        endRequest();
    }
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
    std::construct_at(&data->channel, ctx_->channel());  // it was null: nothing to release
    ResponseSlot& slot = slots_.add();
    slot.method = head.method;
    slot.version = head.version;
    slot.keepAlive = head.keepAlive;
    slot.upgrade = head.upgrade;
    const Ticket ticket = data->ticket = slots_.backTicket();
    lastKeepAlive_ = head.keepAlive;
    if (!slot.isPlainGet() || head.bodyKind != BodyKind::none || special_.any()) [[unlikely]]
        expectBehind(*data);
    delivering_ = ticket;
    weft::detail::watchedDelivery = reinterpret_cast<std::uintptr_t>(data.get());
    ctx_->fireChannelRead(Message(Request(std::move(data))));
    delivering_ = noTicket;
    if (!slots_.empty() && ((weft::detail::watchedDelivery & weft::detail::endedInDelivery) | dropped_)) [[unlikely]]
        afterDelivery(ticket);
    weft::detail::watchedDelivery = 0;
}

void ServerCodec::deliverBody(Message&& message) {
    delivering_ = bodyTicket_;
    ctx_->fireChannelRead(std::move(message));
    delivering_ = noTicket;
}

[[gnu::always_inline]] inline bool ServerCodec::decodeHead() {
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
    while (!input_.empty()) {
        bool head = expects_ == Input::head && !special_.any() && slots_.size() < maxInFlight_;
        if (!head) {
            if (!mayGoOn()) break;
            head = expects_ == Input::head;
        }
        if (head ? !decodeHead() : !decodeBody()) break;
    }
    decoding_ = false;
    if (!input_.empty() || expects_ != Input::head) [[unlikely]]
        awaitRest();
}

// No head is expected, or something is special, or maxInFlight has been reached.
bool ServerCodec::mayGoOn() {
    if (ctx_ == nullptr || expects_ == Input::ended) return false;
    if (expects_ == Input::head) special_.asksSwitch = false;
    const bool held = special_.blocked || special_.crowded || expects_ == Input::undecided;
    if (!(held || slots_.size() >= maxInFlight_) || mayDecode()) return true;
    if (ctx_ != nullptr) pause();  // it may have been removed when the socket took its output
    return false;
}

// From here on read() waits, so it must come by here.
void ServerCodec::pause() noexcept {
    special_.paused = true;
    ctx_->watchReadCycles(true);
}

// A head or body has begun to come. What waits here although it has come is not the client's fault.
void ServerCodec::awaitRest() {
    if (expects_ == Input::ended) input_ = Buffer();
    weft::detail::compact(input_);  // a client may be silent here for long
    if (ctx_ == nullptr || special_.paused || (input_.empty() && expects_ != Input::body)) return;
    if (expects_ == Input::body) {
        if (!patience_.awaitsBody()) patience_.awaitBody();
    } else if (!patience_.awaitsHead()) {
        patience_.awaitHead();
    }
    ctx_->watchReadCycles(true);
}

// Room for what the next bytes may cause: an answer to a request, or to a piece of a body (an echo, a proxy).
bool ServerCodec::mayDecode() {
    if (expects_ == Input::undecided || special_.crowded) return false;
    if (expects_ == Input::head && slots_.size() >= maxInFlight_) return false;
    if (!special_.blocked || (looking_ && slots_.empty())) return true;
    if (flushWanted_) {
        onFlushPoint();                                      // the socket may take it at once
        if (ctx_ != nullptr && special_.busy) flush(*ctx_);  // what is kept meanwhile was to be flushed, too
    }
    return ctx_ != nullptr && !special_.blocked;
}

bool ServerCodec::decodeBody() {
    const BodyStep step = body_.decode(input_.view().substr(0, longestPiece));
    Buffer data;
    if (step.event == BodyEvent::data) {
        data = input_.slice(static_cast<std::size_t>(step.data.data() - input_.readData()), step.data.size());
    }
    input_.consumed(step.consumed);
    special_.owesContinue = false;  // it has not waited
    switch (step.event) {
        case BodyEvent::error:
            cutBody(body_.refusal());
            return false;
        case BodyEvent::needMore:
            return !input_.empty();
        case BodyEvent::data:
            patience_.noteBody(data.readableBytes());
            deliverBody(Message(Content{std::move(data), bodyTicket_}));
            break;
        case BodyEvent::end:
            break;
    }
    if (ctx_ == nullptr || expects_ != Input::body) return false;
    fired_ = true;
    if (body_.finished()) {
        if (patience_.waiting()) patience_.satisfied();
        endRequest();
        deliverBody(Message(LastContent{bodyTicket_, detail::trailersOf(body_)}));
        afterDelivery(bodyTicket_);
    }
    return true;
}

// The next byte begins another request, unless this one was to be the last. At the last look one more is enough for a
// peer that does not take its answers.
void ServerCodec::endRequest() {
    const bool more = !special_.draining || (looking_ && !special_.blocked);
    expects_ = lastKeepAlive_ && more ? Input::head : Input::ended;
    if (special_.asksSwitch && expects_ == Input::head) [[unlikely]] {
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
        special_.draining = true;
        if (slot == nullptr && slots_.empty() && !special_.closing) closeAfterResponse();
        return;
    }
    loseFrom(ticket);
    Response response = error(refusal.status, refusal.reason);
    detail::Tickets::set(response, ticket);
    response.keepAlive = false;
    accept(Message(std::move(response)), {});
    if (ctx_ != nullptr) flush(*ctx_);
}

// An answer has made room below maxInFlight, or the peer has taken enough.
void ServerCodec::resumeReading() {
    if (ctx_ == nullptr || !special_.paused || (expects_ != Input::ended && !mayDecode())) return;
    special_.paused = false;
    if (!decoding_ && !input_.empty()) {
        decode();
        if (ctx_ != nullptr) ctx_->fireChannelReadComplete();
    }
    if (ctx_ == nullptr || special_.paused) return;
    if (inputShutdown_ && expects_ != Input::ended) return endOfRequests();
    if (std::exchange(readWanted_, false)) readOn(*ctx_);
}

}  // namespace weft::http
