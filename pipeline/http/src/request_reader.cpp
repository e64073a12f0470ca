// Decoding: bytes to requests.
#include <weft/http/detail/request_reader.hpp>

#include <weft/http/detail/header_sections.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>
#include <weft/scheduler/event_loop.hpp>

#include "codec_log.hpp"

namespace weft::http::detail {

RequestReader::RequestReader(ServerConnection& connection, ResponseWriter& writer, ConnectionTimeouts& timeouts,
                             const Limits& limits, std::uint32_t maxInFlight)
    : connection_(connection), maxInFlight_(maxInFlight), timeouts_(timeouts), parser_(limits), writer_(writer) {}

void RequestReader::begin(ChannelHandlerContext& ctx) {
    parser_.share(ctx.loop().local<HeaderSections>());
    reading_ = ctx.channel().config().autoRead;
}

void RequestReader::end() noexcept {
    expects_ = Input::ended;
    input_ = Buffer();
    next_.reset();
    body_.reset();
}

// A response that ends the connection has been accepted.
void RequestReader::expectNoMore(Ticket ticket, bool streamed) noexcept {
    if (streamed && expects_ == Input::body && ticket == connection_.bodyTicket) {
        lastKeepAlive_ = false;
    } else {
        expects_ = Input::ended;
    }
}

// Sets what follows a head, unless that is certainly another head.
[[gnu::noinline]] void RequestReader::expectAfter(const RequestData& data) {
    const RequestHead& head = data.head;
    if (head.upgrade || head.method == Method::connect) connection_.slowPath.requestsSwitch = true;
    if (head.hasBody()) {
        body_ = std::make_unique<BodyDecoder>(parser_.limits());
        body_->start(head);
        connection_.bodyTicket = data.ticket;
        expects_ = Input::body;
        connection_.slowPath.continueDue = head.expectContinue;
    } else if (connection_.slowPath.any() || !head.keepAlive) {
        endRequest();
    }
}

[[gnu::always_inline]] inline void RequestReader::deliverHead(ServerConnection& connection, RequestDataPointer&& data) {
    fired_ = true;
    if (timeouts_.waiting()) [[unlikely]]
        timeouts_.satisfied();
    parser_.reset();
    data->takeHead(input_);
    if (input_.empty()) input_ = Buffer();
    const RequestHead& head = data->head;
    std::construct_at(&data->channel, connection.ctx->channel());  // it is null: nothing to release
    ResponseSlot& slot = connection.slots.add();
    slot.method = head.method;
    slot.version = head.version;
    slot.keepAlive = head.keepAlive;
    slot.upgrade = head.upgrade;
    const Ticket ticket = data->ticket = connection.slots.backTicket();
    lastKeepAlive_ = head.keepAlive;
    if (!slot.isPlainGet() || head.bodyKind != BodyKind::none || connection.slowPath.any()) [[unlikely]]
        expectAfter(*data);
    connection.delivering = ticket;
    connection.ctx->fireChannelRead(Message::of<Request>(std::move(data)));
    connection.delivering = noTicket;
    if (dropped_) [[unlikely]]
        afterDelivery(ticket);
}

void RequestReader::deliverBody(Message&& message) {
    connection_.delivering = connection_.bodyTicket;
    connection_.ctx->fireChannelRead(std::move(message));
    connection_.delivering = noTicket;
}

[[gnu::always_inline]] inline bool RequestReader::decodeHead(ServerConnection& connection) {
    RequestDataPointer data = next_ ? std::move(next_) : makeRequestData();
    const Verdict verdict = parser_.parse(input_.view(), data->head);
    if (verdict == Verdict::complete) [[likely]] {
        deliverHead(connection, std::move(data));
        return true;
    }
    next_ = std::move(data);
    if (verdict == Verdict::error) refuseHead(parser_.refusal());
    return false;
}

[[gnu::always_inline]] inline void RequestReader::decodeMessages() {
    ServerConnection& connection = connection_;
    while (!input_.empty()) {
        bool head = expects_ == Input::head && !connection.slowPath.any() && connection.slots.size() < maxInFlight_;
        if (!head) {
            if (!mayGoOn()) break;
            head = expects_ == Input::head;
        }
        if (head ? !decodeHead(connection) : !decodeBody()) break;
    }
}

// There was no memory. A request may be lost, so later ones must not get its answer: nothing more is read, and the
// connection is closed.
[[gnu::cold, gnu::noinline]] void RequestReader::fail() noexcept {
    decoding_ = false;
    connection_.delivering = noTicket;
    expects_ = Input::ended;
    if (connection_.ctx == nullptr) return;
    try {
        connection_.ctx->channel().close();
    } catch (...) {
        logUnsent(LogLevel::error, connection_.ctx, "there was no memory for a request, nor to close its connection");
    }
}

void RequestReader::decode() {
    if (decoding_) return;
    decoding_ = true;
    try {
        decodeMessages();
    } catch (...) {
        fail();
        throw;
    }
    decoding_ = false;
    if (!input_.empty() || expects_ != Input::head) [[unlikely]]
        awaitMoreInput();
}

// Called if no head is expected, a slow-path flag is set, or maxInFlight has been reached.
[[gnu::noinline]] bool RequestReader::mayGoOn() {
    if (connection_.ctx == nullptr || expects_ == Input::ended) return false;
    if (expects_ == Input::head) connection_.slowPath.requestsSwitch = false;
    if (mayDecode()) return true;
    pause();
    return false;
}

void RequestReader::pause() noexcept {
    connection_.slowPath.paused = true;
    connection_.ctx->watchReadCycles(true);
}

// Part of a head or body has arrived. Input that waits here for room does not count against the client.
void RequestReader::awaitMoreInput() {
    if (expects_ == Input::ended) input_ = Buffer();
    weft::detail::compact(input_);  // a client may be silent here for long
    if (connection_.ctx == nullptr || connection_.slowPath.paused || (input_.empty() && expects_ != Input::body))
        return;
    if (expects_ == Input::body) {
        if (!timeouts_.awaitsBody()) timeouts_.awaitBody();
    } else if (!timeouts_.awaitsHead()) {
        timeouts_.awaitHead();
    }
    connection_.ctx->watchReadCycles(true);
}

// True if there is room for what the next bytes may cause: a response to a request, or to a piece of a body (an echo, a
// proxy).
bool RequestReader::mayDecode() {
    if (expects_ == Input::undecided || connection_.slowPath.crowded) return false;
    if (expects_ == Input::head && connection_.slots.size() >= maxInFlight_) return false;
    return !connection_.slowPath.blocked || (connection_.atDrainBarrier && connection_.slots.empty());
}

bool RequestReader::decodeBody() {
    // Maximum bytes of a Content. More may have gathered while nothing was decoded, and a handler that passes a body on
    // should be able to stop inside it.
    constexpr std::size_t longestPiece = 64 * 1024;
    const BodyStep step = body_->decode(input_.view().substr(0, longestPiece));
    Buffer data;
    if (step.event == BodyEvent::data) {
        data = input_.slice(static_cast<std::size_t>(step.data.data() - input_.readData()), step.data.size());
    }
    input_.consumed(step.consumed);
    connection_.slowPath.continueDue = false;  // the client did not wait
    switch (step.event) {
        case BodyEvent::error: cutBody(body_->refusal()); return false;
        case BodyEvent::needMore: return !input_.empty();
        case BodyEvent::data:
            timeouts_.noteBody(data.readableBytes());
            deliverBody(Message(Content{std::move(data), connection_.bodyTicket}));
            break;
        case BodyEvent::end: break;
    }
    if (connection_.ctx == nullptr || expects_ != Input::body) return false;
    fired_ = true;
    if (body_->finished()) {
        LastContent last{connection_.bodyTicket, body_->trailerList()};
        body_.reset();
        if (timeouts_.waiting()) timeouts_.satisfied();
        endRequest();
        deliverBody(Message(std::move(last)));
        afterDelivery(connection_.bodyTicket);
    }
    return true;
}

// The next byte begins another request, unless this request was the last one. At the drain barrier, one more request is
// enough for a peer that does not accept its responses.
void RequestReader::endRequest() {
    const bool more = !connection_.slowPath.draining || (connection_.atDrainBarrier && !connection_.slowPath.blocked);
    expects_ = lastKeepAlive_ && more ? Input::head : Input::ended;
    if (connection_.slowPath.requestsSwitch && expects_ == Input::head) [[unlikely]] {
        expects_ = Input::undecided;
        if (connection_.slots.empty()) connection_.owner.decideProtocol();  // answered before its body was complete
    }
}

// A response has made room below maxInFlight, or the peer has accepted enough output.
bool RequestReader::resume() {
    if (connection_.ctx == nullptr || !connection_.slowPath.paused) return false;
    if (expects_ != Input::ended && !mayDecode()) return false;
    connection_.slowPath.paused = false;
    if (!decoding_ && !input_.empty()) {
        decode();
        if (connection_.ctx != nullptr) connection_.ctx->fireChannelReadComplete();
    }
    return connection_.ctx != nullptr && !connection_.slowPath.paused;
}

}  // namespace weft::http::detail
