// The most common response, inlined where it is written: ResponseWriter::tryAnswerCommon(), and the parts of it that
// other responses use.
#pragma once

#include <cstring>

#include <weft/http/detail/response_writer.hpp>

#include <weft/pipeline/detail/encoder_calls.hpp>

namespace weft::http::detail {

inline ChannelOutput& ResponseWriter::output() {
    return weft::detail::EncoderCalls::output(*connection_.ctx);
}

inline bool ResponseWriter::tryFlushCommon(ChannelHandlerContext& ctx) noexcept {
    return !connection_.slowPath.busy && weft::detail::EncoderCalls::tryFlush(ctx);
}

// True for a complete response to an HTTP/1.1 request, if both keep the connection.
[[gnu::always_inline]] inline bool ResponseWriter::mayKnowHead(const ResponseSlot& slot, const Response& response) {
    return (slot.isPlainGet() || (slot.version == Version::http11 && slot.method != Method::head &&
                                  slot.method != Method::connect && slot.keepAlive)) &&
           (response.keepAlive | response.streamed << 8) == 1;  // keepAlive and not streamed
}

// Writes the head and a copy of the body into one piece of room.
[[gnu::always_inline]] inline void ResponseWriter::emitSmall(ChannelOutput& out, std::string_view head,
                                                             std::string_view body) {
    char* const begin = out.room(head.size() + body.size());
    std::memcpy(begin, head.data(), head.size());
    if (!body.empty()) std::memcpy(begin + head.size(), body.data(), body.size());
    out.produced(head.size() + body.size());
}

// The whole response to the front request is in the output.
[[gnu::always_inline]] inline void ResponseWriter::answeredFront() {
    ResponseSlot& slot = connection_.slots.front();
    if (connection_.slots.size() == 1) [[likely]] {
        connection_.slots.popFront(slot);
    } else {
        slot.complete = true;
        emitReady();
    }
}

// All checks come first, and no foreign code runs after them.
[[gnu::always_inline]] inline bool ResponseWriter::tryAnswerCommon(Response& response) {
    ServerConnection& connection = connection_;
    const std::size_t waiting = connection.slots.size();
    if (connection.slowPath.any() || waiting == 0) return false;
    ResponseSlot& slot = connection.slots.front();
    const std::size_t body = response.body.readableBytes();
    if ((!slot.isPlainGet() && slot.answered) || !mayKnowHead(slot, response) || body > copiedBody) return false;
    const Ticket named = Tickets::of(response);
    if ((named != noTicket ? named : connection.delivering) != connection.slots.frontTicket()) return false;
    const std::string_view head =
        heads_->last(response.status, response.headers, serverName_, body, connection.loop->flushPoints());
    if (head.empty()) [[unlikely]]
        return tryAnswerLike(response);
    ChannelHandlerContext& ctx = *connection.ctx;
    if (!weft::detail::EncoderCalls::ownsRoom(ctx, head.size() + body)) [[unlikely]]
        return false;
    emitSmall(weft::detail::EncoderCalls::ownOutput(ctx.channel()), head, response.body.view());
    answeredFront();
    return true;
}

}  // namespace weft::http::detail
