// Requests that no handler answers: malformed ones, and those that the application destroys. The reader answers them.
#include <weft/http/detail/request_reader.hpp>

#include <weft/http/request_refused.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

#include "codec_log.hpp"

namespace weft::http::detail {

void RequestReader::refuseHead(const Refusal& refusal) {
    connection_.slots.add().keepAlive = false;
    refuse(connection_.slots.backTicket(), refusal);
}

void RequestReader::cutBody(const Refusal& refusal) {
    refuse(connection_.bodyTicket, refusal);
    if (connection_.ctx != nullptr)
        connection_.ctx->fireChannelRead(Message(BodyCut{connection_.bodyTicket, refusal.reason}));
}

// Answers a malformed request in its turn and closes; the start of another request is unknown.
void RequestReader::refuse(Ticket ticket, const Refusal& refusal) {
    expects_ = Input::ended;
    ResponseSlot* slot = connection_.slots.find(ticket);
    if (slot == nullptr || slot->answered) {
        // The application has answered already, perhaps completely: no other response is possible.
        connection_.slowPath.draining = true;
        if (slot == nullptr && connection_.slots.empty() && !connection_.slowPath.closing)
            connection_.owner.closeAfterResponse();
        return;
    }
    writer_.loseFrom(ticket);
    Response response = error(refusal.status, refusal.reason);
    response.keepAlive = false;
    answer(ticket, std::move(response), refusal.reason);
}

// The answer may end the connection, and so may a handler of the event.
void RequestReader::answer(Ticket ticket, Response&& response, std::string_view reason) {
    const Status status = response.status;
    Tickets::set(response, ticket);
    writer_.accept(Message(std::move(response)), {});
    if (connection_.ctx != nullptr) connection_.ctx->flush();
    if (connection_.ctx != nullptr)
        connection_.ctx->fireUserEventTriggered(Message(RequestRefused{ticket, status, reason}));
}

[[gnu::noinline]] void RequestReader::afterDelivery(Ticket ticket) {
    dropped_ = false;
    const ChannelHandlerContext* const taker = std::exchange(droppedBy_, nullptr);
    ResponseSlot* const slot = connection_.slots.find(ticket);
    if (slot != nullptr && slot->dropped && !slot->answered) settleDropped(ticket, *slot, taker);
}

// afterDelivery() decides about a request that is being delivered.
void RequestReader::noteDropped(const weft::detail::AnswerLedger::Drop& drop) {
    ResponseSlot* const slot = connection_.slowPath.closing ? nullptr : connection_.slots.find(drop.request);
    if (slot == nullptr || slot->answered) return;
    const bool delivering = connection_.delivering == drop.request;
    slot->dropped = true;
    if (delivering) {
        dropped_ = true;
        droppedBy_ = drop.taker;
    }
    if (drop.untakenAfter != nullptr) {
        slot->untaken = true;
        untakenAfter_.reset();
        try {
            untakenAfter_ = std::make_unique<std::string>(*drop.untakenAfter);
        } catch (const std::bad_alloc&) {  // the line of the log lacks the name
        }
    }
    if (!delivering) settleDropped(drop.request, *slot, nullptr);
}

// A handler may destroy the head and answer once the body has arrived. But a client that waits for 100 sends no body.
void RequestReader::settleDropped(Ticket ticket, ResponseSlot& slot, const ChannelHandlerContext* taker) {
    if (expects_ == Input::body && connection_.bodyTicket == ticket && !connection_.slowPath.continueDue) return;
    if (!connection_.ctx->channel().open()) return;  // a connection that is being closed needs no answer
    warnOfDropped(ticket, slot, taker);
    answer(ticket, error(slot.untaken ? Status::notFound : Status::internalServerError), {});
}

void RequestReader::warnOfDropped(Ticket ticket, const ResponseSlot& slot,
                                  const ChannelHandlerContext* taker) noexcept {
    const ChannelHandlerContext& ctx = *connection_.ctx;
    try {
        const std::string request = "request " + std::to_string(ticket) + " (" + std::string(nameOf(slot.method)) +
                                    ") of channel " + std::to_string(ctx.channel().id());
        if (slot.untaken) {
            return logLimited(LogLevel::warning, ctx,
                              "no handler took " + request + ", so it is answered with 404; '" +
                                  (untakenAfter_ ? *untakenAfter_ : "(no memory for its name)") +
                                  "' was the last to pass it on: add a handler for it after that one");
        }
        const bool isThere = ctx.pipeline().contains(taker);
        const std::string who = isThere ? "handler '" + taker->name() + "'"
                                        : "the application (its handlers are " + handlersBehind(ctx) + ")";
        logLimited(LogLevel::warning, ctx,
                   who + " dropped " + request +
                       " without an answer, so it is answered with 500; answer every request, or keep its responder() "
                       "to answer it later");
    } catch (const std::bad_alloc&) {
        logLimited(LogLevel::warning, ctx, "a request was dropped, and there was no memory to name it");
    }
}

}  // namespace weft::http::detail
