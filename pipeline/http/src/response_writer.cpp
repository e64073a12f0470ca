// The order of responses: what is encoded now, what waits for its turn.
#include <weft/http/detail/response_writer.hpp>

#include <stdexcept>
#include <vector>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>

#include "codec_log.hpp"

namespace weft::http::detail {

namespace {

// Returns the memory that a message holds while it waits for its turn after the piece `before` (or null): even a piece
// of one byte is expensive to keep. A few bytes of a large block are copied; consecutive pieces of one block count it
// once.
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

}  // namespace

// The output holds other responses, too, and a message may become several writes. So from here on, a message cannot be
// cancelled (W-2). The request of a response that was cancelled before stays unanswered.
void ResponseWriter::accept(Message&& message, ChannelPromise&& promise) {
    if (!promise.setUncancellable()) return;
    const Ticket ticket = ticketFor(message);
    ResponseSlot* slot = connection_.slowPath.closing ? nullptr : connection_.slots.find(ticket);
    if (slot == nullptr || slot->ended) {
        // The body of a response that grants another protocol: there is none, so its pieces are omitted, as with HEAD.
        if (ticket != noTicket && ticket == switching_ && !message.is<Response>()) return void(promise.trySuccess());
        return refuseLate(message, ticket, promise);
    }
    if (message.is<Response>()) {
        Response& response = message.get<Response>();
        if (slot->answered)
            return refuseMessage(promise, "an HTTP request was answered twice; only the first answer is sent");
        slot->answered = !isInterim(response);
        slot->ended = slot->answered && !response.streamed;
        slot->hasWriter = Tickets::hasWriter(response);
        if (connection_.slowPath.continueDue && ticket == connection_.bodyTicket) [[unlikely]]
            settleContinue(response);
        if (!response.keepAlive && slot->answered) connection_.owner.expectNoMore(ticket, response.streamed);
    } else if (!slot->answered) {
        return refuseMessage(promise,
                             "HTTP content was written before its response; write a Response with `streamed` first");
    } else {
        slot->ended = message.is<LastContent>();
    }
    if (ticket != connection_.slots.frontTicket() || connection_.slowPath.busy) {
        return keepEarly(*slot, std::move(message), std::move(promise));
    }
    {
        const ReentrancyGuard here(connection_);
        emit(message, std::move(promise));
    }
    emitReady();
}

void ResponseWriter::flush(ChannelHandlerContext& ctx) {
    if (connection_.slowPath.busy && connection_.ctx != nullptr) {
        flushDue_ = true;
    } else {
        ctx.flush();
    }
}

// A final response instead of the awaited 100: the client may send the body or omit it, and we could not tell it from
// the next request (RFC 9110, 10.1.1).
void ResponseWriter::settleContinue(Response& response) noexcept {
    if (response.status != Status::continue_ && isInterim(response)) return;
    connection_.slowPath.continueDue = false;
    if (response.status != Status::continue_) response.keepAlive = false;
}

// If too many bytes wait for later turns, no more requests (or bodies to be echoed) are read until the first of them
// have been sent.
void ResponseWriter::keepEarly(ResponseSlot& slot, Message&& message, ChannelPromise&& promise) {
    message.keep();
    if (!slot.early) slot.early = std::make_unique<std::vector<ResponseSlot::Early>>();
    const std::size_t held = holdOf(message, lastPiece(*slot.early));
    slot.early->push_back({std::move(message), std::move(promise), held});
    countEarly(0, held);
}

void ResponseWriter::countEarly(std::size_t less, std::size_t more) noexcept {
    earlyBytes_ += more - less;
    connection_.slowPath.crowded = earlyBytes_ > WriteBufferWaterMark::defaultHigh;
}

// Continues with the messages that were queued for the oldest request and, once its response is complete, with those
// for the next ones.
void ResponseWriter::emitReady() {
    while (!connection_.slowPath.closing && !connection_.slots.empty()) {
        if (connection_.slots.front().early) {
            emitEarly();
            continue;
        }
        if (!connection_.slots.front().complete) break;
        const bool keepAlive = connection_.slots.front().keepAlive;
        connection_.slots.popFront();
        if (!keepAlive || (connection_.slots.empty() && connection_.slowPath.draining && !connection_.atDrainBarrier))
            return connection_.owner.closeAfterResponse();
    }
    if (connection_.slowPath.any()) connection_.owner.responseAdvanced();
    if (std::exchange(flushDue_, false) && connection_.ctx != nullptr) connection_.ctx->flush();
}

void ResponseWriter::emitEarly() {
    const ReentrancyGuard here(connection_);
    const auto early = std::move(connection_.slots.front().early);
    for (const auto& entry : *early) countEarly(entry.held, 0);
    for (auto& entry : *early) emit(entry.message, std::move(entry.promise));
}

void ResponseWriter::emit(Message& message, ChannelPromise&& promise) {
    try {
        const bool over = connection_.ctx == nullptr || connection_.slowPath.closing || connection_.slots.empty();
        over ? cutShort(promise) : emitNow(message, std::move(promise));
    } catch (...) {
        loseOutput(promise);
    }
}

void ResponseWriter::emitNow(Message& message, ChannelPromise&& promise) {
    if (message.is<Response>()) {
        // A refused interim head was answered with 500.
        if (connection_.slots.front().complete) return cutShort(promise);
        Response& response = message.get<Response>();
        // NOLINTNEXTLINE(bugprone-use-after-move): emitKnownHead() takes the promise only when it returns true
        if (!emitKnownHead(response, std::move(promise))) emitHead(response, std::move(promise));
    } else if (message.is<Content>()) {
        emitContent(std::move(message.get<Content>().data), std::move(promise));
    } else {
        emitEnd(message.get<LastContent>().trailers.get(), std::move(promise));
    }
}

// Call it in a catch block. A message could not be written whole, and nothing may be sent after the gap, so the
// connection ends.
void ResponseWriter::loseOutput(const ChannelPromise& promise) {
    logLostOutput(connection_.ctx, std::current_exception());
    connection_.slowPath.closing = true;
    connection_.owner.expectNoMore(connection_.slots.frontTicket(), false);
    if (!promise.isVoid()) promise.tryFailure(std::current_exception());
    if (connection_.ctx != nullptr) connection_.ctx->close(ChannelPromise());
}

// An earlier message has ended the connection.
void ResponseWriter::cutShort(const ChannelPromise& promise) {
    refuseMessage(promise, "an HTTP response was cut short", LogLevel::debug);
}

void ResponseWriter::dropAll(const char* why) {
    countEarly(earlyBytes_, 0);
    if (connection_.slowPath.closing) loseFrom(connection_.slots.frontTicket());
    while (!connection_.slots.empty()) {
        ResponseSlot slot = std::move(connection_.slots.front());
        connection_.slots.popFront();
        if (!slot.early) continue;
        for (auto& early : *slot.early) {
            if (early.promise.isVoid()) {
                logUnsent(LogLevel::debug, connection_.ctx, why);
            } else {
                early.promise.tryFailure(std::make_exception_ptr(std::runtime_error(why)));
            }
        }
    }
}

}  // namespace weft::http::detail
