// Finds the request that a message from the application belongs to, and refuses a message that belongs to none.
#include <weft/http/detail/response_writer.hpp>

#include "codec_log.hpp"

namespace weft::http::detail {

namespace {

Ticket ticketOf(const Message& message) noexcept {
    if (message.is<Response>()) return Tickets::of(message.get<Response>());
    return message.is<Content>() ? message.get<Content>().ticket : message.get<LastContent>().ticket;
}

}  // namespace

void ResponseWriter::acceptBytes(ChannelHandlerContext& ctx, Message&& message, ChannelPromise&& promise) {
    if (switching_ != noTicket && connection_.slots.empty() && !connection_.slowPath.closing) {
        return ctx.write(std::move(message), std::move(promise));
    }
    const Ticket ticket = streamBeingWritten();
    if (ticket == noTicket) {
        return refuseMessage(
            promise, "a Buffer was written to ServerCodec outside an HTTP body and was not sent: write a Response, "
                     "or begin a streamed one before writing its pieces");
    }
    accept(Message(Content{message.take<Buffer>(), ticket}), std::move(promise));
}

// The request that a piece without a ticket belongs to: the one that is being delivered, or the only one whose response
// a handler has begun with write() and not ended; none if there are several.
Ticket ResponseWriter::streamBeingWritten() noexcept {
    const ResponseSlot* const delivering = connection_.slots.find(connection_.delivering);
    if (delivering != nullptr && delivering->answered && !delivering->ended) return connection_.delivering;
    Ticket only = noTicket;
    for (Ticket ticket = connection_.slots.frontTicket(); ticket <= connection_.slots.backTicket(); ++ticket) {
        const ResponseSlot& slot = *connection_.slots.find(ticket);
        if (!slot.answered || slot.ended || slot.hasWriter) continue;
        if (only != noTicket) return noTicket;
        only = ticket;
    }
    return only;
}

Ticket ResponseWriter::ticketFor(const Message& message) noexcept {
    const Ticket named = ticketOf(message);
    if (named != noTicket) return named;
    return message.is<Response>() ? connection_.delivering : streamBeingWritten();
}

// No request waits for this message. A response whose connection is ending is no fault: its fiber was at work
// meanwhile.
[[gnu::cold]] void ResponseWriter::refuseLate(const Message& message, Ticket ticket, const ChannelPromise& promise) {
    if (isOvertaken(message, ticket)) {
        return refuseMessage(promise,
                             "an HTTP response, or a piece of one, was written after its connection had begun to close",
                             LogLevel::debug);
    }
    if (ticket != noTicket) {
        return refuseMessage(promise,
                             "an HTTP response, or a piece of one, was written after its request had been answered");
    }
    refuseMessage(
        promise, message.is<Response>()
                     ? "an HTTP response was refused: it names no request, and none is being delivered; to answer "
                       "later, use the request's responder() or response.to(request)"
                     : "HTTP content was refused: it names no request, and not exactly one response is being streamed; "
                       "use a BodyWriter, or Content{data, request.ticket()}");
}

// True if the end of the connection, or an error that the codec answered, came first. Not for a second response: its
// request had one.
bool ResponseWriter::isOvertaken(const Message& message, Ticket ticket) noexcept {
    if (ticket >= firstLost_) return true;
    const bool answered = ticket != noTicket && ticket < connection_.slots.frontTicket();
    return connection_.slowPath.closing && !(message.is<Response>() && answered);
}

void ResponseWriter::refuseMessage(const ChannelPromise& promise, const char* why, LogLevel level) {
    if (!promise.isVoid()) return void(promise.tryFailure(misuse(why)));
    logUnsent(level, connection_.ctx, why);
}

}  // namespace weft::http::detail
