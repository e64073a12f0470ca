// Requests that the application lets go of without an answer: the client gets one, the log a line.
#include <weft/pipeline/http/server_codec.hpp>

#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

#include "http/codec_log.hpp"
#include "http/dropped_request.hpp"
#include "tail_release.hpp"

namespace weft::http {

namespace {

std::string nameOfRequest(Ticket ticket, const ResponseSlot& slot, const ChannelHandlerContext& ctx) {
    return "request " + std::to_string(ticket) + " (" + std::string(nameOf(slot.method)) + ") of channel " +
           std::to_string(ctx.channel().id());
}

}  // namespace

// The request has been delivered, so far, some request is unanswered, and this or another one may have been dropped.
[[gnu::noinline]] void ServerCodec::afterDelivery(Ticket ticket) {
    dropped_ = false;
    ResponseSlot* const slot = slots_.find(ticket);
    if (slot == nullptr || slot->answered) return;
    const std::uintptr_t seen = weft::detail::watchedDelivery;
    if (seen & weft::detail::endedInDelivery) slot->dropped = true;
    if (!slot->dropped) [[likely]]
        return;
    const std::uintptr_t taker = seen & weft::detail::endedInDelivery ? seen - weft::detail::endedInDelivery : 0;
    settleDropped(ticket, *slot, reinterpret_cast<const ChannelHandlerContext*>(taker));
}

// It has ended elsewhere: an answer may be on its way only while it is being delivered.
void ServerCodec::noteDropped(Ticket ticket, std::unique_ptr<std::string>&& untakenAfter) {
    ResponseSlot* const slot = special_.closing ? nullptr : slots_.find(ticket);
    if (slot == nullptr || slot->answered) return;
    slot->dropped = dropped_ = true;
    if (untakenAfter) {
        slot->untaken = true;
        untakenAfter_ = std::move(untakenAfter);
    }
    if (delivering_ != ticket) settleDropped(ticket, *slot, nullptr);
}

// A handler may drop the head and answer when the body has come; but no body comes from a client that waits for 100.
void ServerCodec::settleDropped(Ticket ticket, ResponseSlot& slot, const ChannelHandlerContext* taker) {
    if (expects_ == Input::body && bodyTicket_ == ticket && !special_.owesContinue) return;
    if (!ctx_->channel().open()) return;  // who closes the connection needs no answer
    warnOfDropped(ticket, slot, taker);
    Response response = error(slot.untaken ? Status::notFound : Status::internalServerError);
    detail::Tickets::set(response, ticket);
    accept(Message(std::move(response)), {});
    if (ctx_ != nullptr) flush(*ctx_);
}

void ServerCodec::warnOfDropped(Ticket ticket, const ResponseSlot& slot, const ChannelHandlerContext* taker) {
    const std::string request = nameOfRequest(ticket, slot, *ctx_);
    if (slot.untaken && untakenAfter_) {
        return detail::logOfCodec(LogLevel::warning, *ctx_,
                                  "no handler took " + request + ", which is answered with 404; '" + *untakenAfter_ +
                                      "' passed it on last: add a handler for it behind that one");
    }
    const std::string who = taker != nullptr
                                ? "handler '" + taker->name() + "'"
                                : "the application (its handlers are " + detail::handlersBehind(*ctx_) + ")";
    detail::logOfCodec(LogLevel::warning, *ctx_,
                       who + " dropped " + request +
                           " without an answer, so it is answered with 500; answer every request, or keep its "
                           "responder()");
}

}  // namespace weft::http
