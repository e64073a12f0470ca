// The outbound half of the codec: responses to bytes, in the order of the requests.
#include <weft/pipeline/http/server_codec.hpp>

#include <cstring>
#include <stdexcept>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>

#include "http/codec_log.hpp"
#include "http/dropped_request.hpp"

namespace weft::http {

namespace {

// Bytes of memory that a message holds while it waits for its turn behind a piece `before` it (or null): a piece of one
// byte is no cheap thing to keep. Few bytes of a large block are copied; pieces of one block in a row hold it once.
std::size_t holdOf(Message& message, const Buffer* before) noexcept {
    constexpr std::size_t entry = sizeof(ResponseSlot::Early);
    if (message.is<Response>()) {
        Buffer& body = message.get<Response>().body;
        weft::detail::compact(body);
        return entry + sizeof(Response) + body.heldBytes();
    }
    if (!message.is<Content>()) return entry;
    Buffer& data = message.get<Content>().data;
    if (before != nullptr && weft::detail::storageOf(*before) == weft::detail::storageOf(data)) return entry;
    weft::detail::compact(data);
    return entry + data.heldBytes();
}

const Buffer* lastPiece(const std::vector<ResponseSlot::Early>& early) noexcept {
    const bool any = !early.empty() && early.back().message.is<Content>();
    return any ? &early.back().message.get<Content>().data : nullptr;
}

bool isInterim(const Response& response) noexcept {
    return codeOf(response.status) < 200 && response.status != Status::switchingProtocols;
}

}  // namespace

void ServerCodec::write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) {
    if (message.is<Response>() && promise.isVoid() && answerEasily(message.get<Response>())) [[likely]]
        return;
    writeCarefully(ctx, std::move(message), std::move(promise));
}

// Most answers of a server: small and whole, of the oldest request, with the head that the answer before it had. All
// looks come first, and then nobody's code runs. False: another one; nothing has been done.
[[gnu::always_inline]] inline bool ServerCodec::answerEasily(Response& response) {
    const std::size_t waiting = slots_.size();
    if (special_.any() || waiting == 0 || output_.size() > easyOutput) return false;
    ResponseSlot& slot = slots_.front();
    const std::size_t body = response.body.readableBytes();
    if ((!slot.isPlainGet() && slot.answered) || !mayKnowHead(slot, response) || body > copiedBody) return false;
    const Ticket named = detail::Tickets::of(response);
    if ((named != noTicket ? named : delivering_) != slots_.frontTicket()) return false;
    const std::string_view head =
        heads_->last(response.status, response.headers, serverName_, body, loop_->flushPoints());
    if (head.empty()) return false;
    emitSmall(head, response.body.view());
    if (waiting == 1) [[likely]] {
        slots_.popFront(slot);
    } else {
        slot.complete = true;
        drainFront();
    }
    return true;
}

[[gnu::noinline]] void ServerCodec::writeCarefully(ChannelHandlerContext& ctx, Message&& message,
                                                   ChannelPromise&& promise) {
    if (message.is<Response>() || message.is<Content>() || message.is<LastContent>()) {
        return accept(std::move(message), std::move(promise));
    }
    if (message.is<detail::RequestDropped>()) {
        auto& dropped = message.get<detail::RequestDropped>();
        return noteDropped(dropped.ticket, std::move(dropped.untakenAfter));
    }
    if (message.is<Buffer>() && expects_ != Input::switched)
        return acceptBytes(ctx, std::move(message), std::move(promise));
    passOut({});  // what was said before goes before
    ctx.write(std::move(message), std::move(promise));
}

// Puts a message where it belongs: into the output if its request is the oldest one, else with its request.
void ServerCodec::accept(Message&& message, ChannelPromise&& promise) {
    const Ticket ticket = ticketFor(message);
    ResponseSlot* slot = special_.closing ? nullptr : slots_.find(ticket);
    if (slot == nullptr || slot->ended) {
        if (isTunnelled(message, ticket)) return void(promise.trySuccess());
        return refuseLate(message, ticket, promise);
    }
    if (message.is<Response>()) {
        Response& response = message.get<Response>();
        if (slot->answered)
            return refuseMessage(promise, "an HTTP request was answered twice; the first answer counts");
        slot->answered = !isInterim(response);
        slot->ended = slot->answered && !response.streamed;
        slot->hasWriter = detail::Tickets::hasWriter(response);
        if (special_.owesContinue && ticket == bodyTicket_) [[unlikely]]
            settleContinue(response);
        if (!response.keepAlive && slot->answered) expectNoMore(ticket, response.streamed);
    } else if (!slot->answered) {
        return refuseMessage(promise,
                             "HTTP content was written before its response; write a Response with `streamed` first");
    } else {
        slot->ended = message.is<LastContent>();
    }
    if (ticket != slots_.frontTicket() || special_.busy) {
        return keepEarly(*slot, std::move(message), std::move(promise));
    }
    {
        const Saying here(*this);
        emit(message, std::move(promise));
    }
    drainFront();
}

// The body of an answer that grants another protocol: it has none, so what is written of it is left out, as with HEAD.
bool ServerCodec::isTunnelled(const Message& message, Ticket ticket) const noexcept {
    return ticket != noTicket && ticket == switching_ && !message.is<Response>();
}

// A final answer instead of the awaited 100: the client may send the body or leave it out, and we could not tell it
// from the next request. (RFC 9110, 10.1.1)
void ServerCodec::settleContinue(Response& response) noexcept {
    if (response.status != Status::continue_ && isInterim(response)) return;
    special_.owesContinue = false;
    if (response.status != Status::continue_) response.keepAlive = false;
}

// Too many bytes for later turns, and no more requests (or bodies to be echoed) are read until the first have left.
void ServerCodec::keepEarly(ResponseSlot& slot, Message&& message, ChannelPromise&& promise) {
    message.keep();
    if (!slot.early) slot.early = std::make_unique<std::vector<ResponseSlot::Early>>();
    const std::size_t held = holdOf(message, lastPiece(*slot.early));
    slot.early->push_back({std::move(message), std::move(promise), held});
    countEarly(0, held);
}

void ServerCodec::countEarly(std::size_t less, std::size_t more) noexcept {
    earlyBytes_ += more - less;
    special_.crowded = earlyBytes_ > WriteBufferWaterMark::defaultHigh;
}

// An answer has been accepted that will end the connection: what comes behind its request could never be answered. Its
// own body is heard to its end by who streams the answer.
void ServerCodec::expectNoMore(Ticket ticket, bool streamed) noexcept {
    if (streamed && expects_ == Input::body && ticket == bodyTicket_) {
        lastKeepAlive_ = false;
    } else {
        expects_ = Input::ended;
    }
}

// Goes on with what was said about the oldest request meanwhile and, when it is answered, early about the next ones.
void ServerCodec::drainFront() {
    while (!special_.closing && !slots_.empty()) {
        if (slots_.front().early) {
            emitEarly();
            continue;
        }
        if (!slots_.front().complete) break;
        const bool keepAlive = slots_.front().keepAlive;
        slots_.popFront();
        if (!keepAlive || (slots_.empty() && special_.draining && !looking_)) return closeAfterResponse();
    }
    if (expects_ == Input::undecided && slots_.empty() && ctx_ != nullptr) [[unlikely]]
        decideProtocol();
    resumeReading();
}

void ServerCodec::emitEarly() {
    const Saying here(*this);
    const auto early = std::move(slots_.front().early);
    for (const auto& said : *early) countEarly(said.held, 0);
    for (auto& said : *early) emit(said.message, std::move(said.promise));
}

void ServerCodec::emit(Message& message, ChannelPromise&& promise) {
    try {
        // There is room for an everyday answer then, so nobody's code runs between the look for its head and its copy.
        if (output_.size() > easyOutput) passOut({});
        special_.closing || slots_.empty() ? cutShort(promise) : emitNow(message, std::move(promise));
    } catch (...) {
        loseOutput(promise);
    }
}

void ServerCodec::emitNow(Message& message, ChannelPromise&& promise) {
    if (message.is<Response>()) {
        if (slots_.front().complete) return cutShort(promise);  // an interim head that was refused was the answer
        Response& response = message.get<Response>();
        if (!emitKnownHead(response, std::move(promise))) emitHead(response, std::move(promise));
    } else if (message.is<Content>()) {
        emitContent(std::move(message.get<Content>().data), std::move(promise));
    } else {
        emitEnd(message.get<LastContent>().trailers.get(), std::move(promise));
    }
}

// What was said before it has ended the connection.
void ServerCodec::cutShort(const ChannelPromise& promise) {
    refuseMessage(promise, "an HTTP response was cut short", LogLevel::debug);
}

// A whole answer to an HTTP/1.1 request that keeps the connection.
[[gnu::always_inline]] inline bool ServerCodec::mayKnowHead(const ResponseSlot& slot, const Response& response) {
    return (slot.isPlainGet() || (slot.version == Version::http11 && slot.method != Method::head &&
                                  slot.method != Method::connect && slot.keepAlive)) &&
           (response.keepAlive | response.streamed << 8) == 1;  // it keeps the connection and is whole
}

// The head, and a copy of the body behind it, in one piece of room.
[[gnu::always_inline]] inline void ServerCodec::emitSmall(std::string_view head, std::string_view body, bool leaving) {
    char* const begin = reserveHere(head.size() + body.size(), leaving);
    std::memcpy(begin, head.data(), head.size());
    if (!body.empty()) std::memcpy(begin + head.size(), body.data(), body.size());
    output_.produced(head.size() + body.size());
}

// False: it may not know its head, or the head cannot be sent; nothing has been done.
bool ServerCodec::emitKnownHead(Response& response, ChannelPromise&& promise) {
    ResponseSlot& slot = slots_.front();
    if (!mayKnowHead(slot, response) || lastOfDrain()) return false;
    const std::size_t body = response.body.readableBytes();
    const std::string_view head = heads_->head(response.status, response.headers, serverName_, body, second());
    if (head.empty()) return false;
    const bool copied = body <= copiedBody;
    emitSmall(head, copied ? response.body.view() : std::string_view(), !copied || !promise.isVoid());
    slot.answered = slot.ended = slot.headSent = slot.complete = true;
    if (copied) {
        finishWrite(std::move(promise));
    } else {
        emitBytes(std::move(response.body), std::move(promise));
    }
    return true;
}

void ServerCodec::emitHead(Response& response, ChannelPromise&& promise) {
    const ResponseSlot& slot = slots_.front();
    const bool interim = isInterim(response);
    if (interim && slot.version == Version::http10)
        return void(promise.trySuccess());  // it would take it for the answer
    if (response.status == Status::switchingProtocols && !slot.upgrade)
        return failHead(std::move(promise), EncodeError::unaskedSwitch);
    ResponseHead head;
    head.status = response.status;
    head.body = interim                                    ? BodyKind::none
                : response.streamed && !response.hasLength ? BodyKind::chunked
                                                           : BodyKind::length;
    head.contentLength = response.streamed ? response.contentLength : response.body.readableBytes();
    const bool informational = codeOf(response.status) < 200;
    if (!informational) head.date = heads_->date(second());
    head.requestVersion = slot.version;
    head.requestMethod = slot.method;
    // While draining the last answer of the connection says that it is the last.
    head.keepAlive = slot.keepAlive && response.keepAlive && !lastOfDrain();
    const bool leaving = response.streamed || response.body.readableBytes() > copiedBody || !promise.isVoid();
    const EncodedHead encoded =
        response.headers.visit(serverHeader(informational), [&](std::span<const HeaderView> headers) {
            head.headers = headers;
            const std::size_t bound = headBound(head);
            return encodeHead(head, std::span<char>(reserve(bound, leaving), bound));
        });
    if (special_.closing || slots_.empty()) return cutShort(promise);  // a long head: the output before it has left
    if (encoded.error != EncodeError::none) return failHead(std::move(promise), encoded.error);
    output_.produced(encoded.size);
    if (interim) return finishWrite(std::move(promise));
    finishHead(response, encoded, head.contentLength, std::move(promise));
}

// The head of a final answer is in the output.
void ServerCodec::finishHead(Response& response, const EncodedHead& encoded, std::uint64_t length,
                             ChannelPromise&& promise) {
    ResponseSlot& slot = slots_.front();
    slot.headSent = true;
    slot.framing = encoded.framing;
    slot.remaining = length;
    slot.keepAlive = encoded.keepAlive;
    if (encoded.framing == BodyFraming::untilClose) resetUnlessWhole();
    if (!slot.keepAlive) expectNoMore(slots_.frontTicket(), response.streamed);
    if (encoded.switches) {
        switching_ = slots_.frontTicket();
        slot.ended = slot.complete = true;
        return finishWrite(std::move(promise));
    }
    if (response.streamed) return finishWrite(std::move(promise));
    slot.complete = true;
    if (encoded.framing == BodyFraming::none || response.body.empty()) return finishWrite(std::move(promise));
    emitBytes(std::move(response.body), std::move(promise));
}

HeaderView ServerCodec::serverHeader(bool informational) const noexcept {
    if (informational || options_.serverName.empty()) return {};
    return {"Server", options_.serverName};
}

// A response that cannot be sent as it is: the application hears of it, the client gets 500.
void ServerCodec::failHead(ChannelPromise&& promise, EncodeError why) {
    slots_.front().ended = true;
    loseFrom(slots_.frontTicket());
    detail::logUnsent(LogLevel::error, ctx_, std::string("an HTTP response was refused: ").append(textOf(why)));
    if (!promise.isVoid()) promise.tryFailure(std::make_exception_ptr(std::invalid_argument(std::string(textOf(why)))));
    if (special_.closing || slots_.empty()) return;
    Response instead = error(Status::internalServerError);
    instead.keepAlive = false;
    emitHead(instead, {});
}

}  // namespace weft::http
