// Which request a message from the application is about, and what becomes of one that is about none.
#include <weft/pipeline/http/server_codec.hpp>

#include <string>
#include <utility>

#include <weft/pipeline/channel_handler_context.hpp>

#include "http/codec_log.hpp"
#include "http/misuse.hpp"

namespace weft::http {

namespace {

Ticket ticketOf(const Message& message) noexcept {
    if (message.is<Response>()) return detail::Tickets::of(message.get<Response>());
    return message.is<Content>() ? message.get<Content>().ticket : message.get<LastContent>().ticket;
}

}  // namespace

// A piece of a body, from a handler that knows nothing of HTTP (ChunkedWriteHandler). Behind an answer that grants
// another protocol it is that protocol's.
void ServerCodec::acceptBytes(ChannelHandlerContext& ctx, Message&& message, ChannelPromise&& promise) {
    if (switching_ != noTicket && slots_.empty() && !special_.closing) {
        passOut({});
        return ctx.write(std::move(message), std::move(promise));
    }
    const Ticket ticket = streamBeingWritten();
    if (ticket == noTicket) {
        return refuseMessage(
            promise,
            "a Buffer was written to ServerCodec outside of an HTTP body and not sent: write a Response, "
            "or begin a streamed one before its pieces");
    }
    accept(Message(Content{message.take<Buffer>(), ticket}), std::move(promise));
}

// Of a message without a ticket.
Ticket ServerCodec::streamBeingWritten() noexcept {
    const ResponseSlot* const slot = slots_.find(delivering_);
    return slot != nullptr && slot->answered && !slot->ended ? delivering_ : onlyOpenStream();
}

// The only request whose answer a handler has begun with write() and not ended; none where there are several.
Ticket ServerCodec::onlyOpenStream() noexcept {
    Ticket only = noTicket;
    for (Ticket ticket = slots_.frontTicket(); ticket <= slots_.backTicket(); ++ticket) {
        const ResponseSlot& slot = *slots_.find(ticket);
        if (!slot.answered || slot.ended || slot.hasWriter) continue;
        if (only != noTicket) return noTicket;
        only = ticket;
    }
    return only;
}

Ticket ServerCodec::ticketFor(const Message& message) noexcept {
    const Ticket named = ticketOf(message);
    if (named != noTicket) return named;
    return message.is<Response>() ? delivering_ : streamBeingWritten();
}

// No request waits for it. An answer that finds its connection ending is no fault: a fiber was at work meanwhile.
[[gnu::cold]] void ServerCodec::refuseLate(const Message& message, Ticket ticket, const ChannelPromise& promise) {
    if (isOvertaken(message, ticket)) {
        return refuseMessage(promise,
                             "an HTTP response, or a piece of one, came after its connection had begun to end",
                             LogLevel::debug);
    }
    if (ticket != noTicket) {
        return refuseMessage(promise, "an HTTP response, or a piece of one, came after its request had been answered");
    }
    refuseMessage(promise,
                  message.is<Response>()
                      ? "an HTTP response was refused: it names no request, and none is being delivered; answer later "
                        "with the request's responder(), or with response.to(request)"
                      : "HTTP content was refused: it names no request, and not one answer alone is being streamed; "
                        "use a BodyWriter, or Content{data, request.ticket()}");
}

// By the end of the connection, or by an error that the codec answered with. A second answer is not: its request had
// one.
bool ServerCodec::isOvertaken(const Message& message, Ticket ticket) noexcept {
    if (ticket >= firstLost_) return true;
    return special_.closing && !(message.is<Response>() && ticket != noTicket && ticket < slots_.frontTicket());
}

void ServerCodec::refuseMessage(const ChannelPromise& promise, const char* why, LogLevel level) {
    if (!promise.isVoid()) return void(promise.tryFailure(detail::misuse(why)));
    detail::logUnsent(level, ctx_, why);
}

}  // namespace weft::http
