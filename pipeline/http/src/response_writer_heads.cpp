// The heads of responses, with the bodies that are not streamed.
#include <weft/http/detail/response_writer.hpp>

#include <cstring>
#include <span>
#include <stdexcept>

#include "codec_log.hpp"
#include "common_response.hpp"

namespace weft::http::detail {

void ResponseWriter::begin(ChannelHandlerContext& ctx, std::string_view serverName) {
    heads_ = &ctx.loop().local<HeadCache>();
    serverName_ = heads_->serverName(serverName);
}

// Writes the head, and `body`, into one piece of room of at most `most` bytes. False as for HeadCache::write().
[[gnu::always_inline]] inline bool ResponseWriter::emitLike(ChannelOutput& out, HeadCache::Model& model,
                                                            const Response& response, std::string_view body,
                                                            std::size_t most) {
    char* const begin = out.room(most);
    const std::size_t head = heads_->write(model, response.headers, response.body.readableBytes(), begin);
    if (head == 0) return false;
    if (!body.empty()) std::memcpy(begin + head, body.data(), body.size());
    out.produced(head + body.size());
    return true;
}

// As tryAnswerCommon(), which has called heads_->last(), for a head that differs from the last one.
bool ResponseWriter::tryAnswerLike(const Response& response) {
    try {
        HeadCache::Model* const model =
            heads_->find(response.status, response.headers, serverName_, heads_->latestSecond());
        if (model == nullptr) return false;
        ChannelHandlerContext& ctx = *connection_.ctx;
        const std::string_view body = response.body.view();
        const std::size_t most = model->bound(response.headers) + body.size();
        if (!weft::detail::EncoderCalls::ownsRoom(ctx, most)) return false;
        if (!emitLike(weft::detail::EncoderCalls::ownOutput(ctx.channel()), *model, response, body, most)) return false;
    } catch (const std::bad_alloc&) {
        return false;  // accept() reports it
    }
    answeredFront();
    return true;
}

// False if the head has no model, or cannot be sent; nothing has been done then.
bool ResponseWriter::emitKnownHead(Response& response, ChannelPromise&& promise) {
    ResponseSlot& slot = connection_.slots.front();
    if (!mayKnowHead(slot, response) || lastOfDrain()) return false;
    HeadCache::Model* const model = heads_->find(response.status, response.headers, serverName_, second());
    if (model == nullptr) return false;
    const bool copied = response.body.readableBytes() <= copiedBody;
    const std::string_view body = copied ? response.body.view() : std::string_view();
    if (!emitLike(output(), *model, response, body, model->bound(response.headers) + body.size())) return false;
    if (!copied) output().append(std::move(response.body));
    slot.answered = slot.ended = slot.headSent = slot.complete = true;
    finishWrite(std::move(promise));
    return true;
}

void ResponseWriter::emitHead(Response& response, ChannelPromise&& promise) {
    const ResponseSlot& slot = connection_.slots.front();
    const bool interim = isInterim(response);
    if (interim && slot.version == Version::http10)
        return void(promise.trySuccess());  // the client would take it for the final response
    if (response.status == Status::switchingProtocols && !slot.upgrade)
        return failHead(std::move(promise), EncodeError::unrequestedSwitch);
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
    // During a drain, the last response of the connection has `Connection: close`.
    head.keepAlive = slot.keepAlive && response.keepAlive && !lastOfDrain();
    const HeaderView server{informational || serverName_->empty() ? "" : "Server", *serverName_};
    const EncodedHead encoded = response.headers.visit(server, [&](std::span<const HeaderView> headers) {
        head.headers = headers;
        const std::size_t bound = headBound(head);
        return encodeHead(head, std::span<char>(output().room(bound), bound));
    });
    if (encoded.error != EncodeError::none) return failHead(std::move(promise), encoded.error);
    output().produced(encoded.size);
    if (interim) return finishWrite(std::move(promise));
    finishHead(response, encoded, head.contentLength, std::move(promise));
}

// The head of a final response is in the output.
void ResponseWriter::finishHead(Response& response, const EncodedHead& encoded, std::uint64_t length,
                                ChannelPromise&& promise) {
    ResponseSlot& slot = connection_.slots.front();
    slot.headSent = true;
    slot.framing = encoded.framing;
    slot.remaining = length;
    slot.keepAlive = encoded.keepAlive;
    if (encoded.framing == BodyFraming::untilClose) resetUnlessWhole();
    if (!slot.keepAlive) connection_.owner.expectNoMore(connection_.slots.frontTicket(), response.streamed);
    if (encoded.switches) {
        switching_ = connection_.slots.frontTicket();
        slot.ended = slot.complete = true;
        return finishWrite(std::move(promise));
    }
    if (response.streamed) return finishWrite(std::move(promise));
    slot.complete = true;
    if (encoded.framing != BodyFraming::none) output().append(std::move(response.body));
    finishWrite(std::move(promise));
}

// True if the response to the front request is the last one of a drain: no further request is expected, or none has
// arrived at the drain barrier.
bool ResponseWriter::lastOfDrain() const noexcept {
    return connection_.slowPath.draining && connection_.slots.size() == 1 && !connection_.owner.hasFurtherInput();
}

// A response that cannot be sent: the promise fails, the client gets 500, and the connection closes.
void ResponseWriter::failHead(ChannelPromise&& promise, EncodeError why) {
    connection_.slots.front().ended = true;
    loseFrom(connection_.slots.frontTicket());
    logUnsent(LogLevel::error, connection_.ctx, std::string("an HTTP response was refused: ").append(textOf(why)));
    if (!promise.isVoid()) promise.tryFailure(std::make_exception_ptr(std::invalid_argument(std::string(textOf(why)))));
    if (connection_.slowPath.closing || connection_.slots.empty()) return;
    Response instead = error(Status::internalServerError);
    instead.keepAlive = false;
    emitHead(instead, {});
}

}  // namespace weft::http::detail
