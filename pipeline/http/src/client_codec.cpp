// The events of the connection, and the outbound half of the client codec: requests to bytes.
#include <weft/http/client_codec.hpp>

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/encoded_write.hpp>

#include "chunked_output.hpp"
#include "codec_log.hpp"

namespace weft::http {

namespace {

void refuse(const ChannelHandlerContext& ctx, const ChannelPromise& promise, std::exception_ptr why,
            std::string_view what) {
    if (!promise.isVoid()) return void(promise.tryFailure(std::move(why)));
    detail::logUnsent(LogLevel::error, &ctx, std::string("an HTTP request was not sent: ").append(what));
}

void refuseBad(const ChannelHandlerContext& ctx, const ChannelPromise& promise, std::string_view what) {
    refuse(ctx, promise, std::make_exception_ptr(std::invalid_argument(std::string(what))), what);
}

void refuseMisuse(const ChannelHandlerContext& ctx, const ChannelPromise& promise, const char* what) {
    refuse(ctx, promise, detail::misuse(what), what);
}

}  // namespace

ClientCodec::ClientCodec(ClientCodecOptions options) : options_(std::move(options)), decoder_(head_, options_.limits) {}

void ClientCodec::handlerAdded(ChannelHandlerContext& ctx) {
    ctx_ = &ctx;
}

void ClientCodec::handlerRemoved(ChannelHandlerContext&) {
    passInputOn();
    ctx_ = nullptr;
}

void ClientCodec::exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) {
    disorderly_ = true;
    ctx.fireExceptionCaught(std::move(cause));
}

void ClientCodec::close(ChannelHandlerContext& ctx, ChannelPromise promise) {
    disorderly_ = true;
    ctx.close(std::move(promise));
}

void ClientCodec::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    const bool inputEnded = event.is<InputShutdownEvent>();
    if (inputEnded && expects_ == Input::responses) endInput();
    if (ctx_ != nullptr) ctx.fireUserEventTriggered(std::move(event));
}

void ClientCodec::channelInactive(ChannelHandlerContext& ctx) {
    if (expects_ == Input::responses) endInput();
    ctx.fireChannelInactive();
}

// ---- requests ----

// From here on no message can be cancelled (W-2): the codec counts what it has encoded.
void ClientCodec::write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) {
    const bool encoded = message.is<ClientRequest>() || message.is<Content>() || message.is<LastContent>();
    if (encoded && !promise.setUncancellable()) return;
    if (message.is<ClientRequest>()) {
        writeRequest(ctx, message.take<ClientRequest>(), std::move(promise));
    } else if (message.is<Content>()) {
        writeContent(ctx, std::move(message.get<Content>().data), std::move(promise));
    } else if (message.is<LastContent>()) {
        writeEnd(ctx, message.get<LastContent>().trailers.get(), std::move(promise));
    } else {
        ctx.write(std::move(message), std::move(promise));
    }
}

void ClientCodec::writeRequest(ChannelHandlerContext& ctx, ClientRequest&& request, ChannelPromise&& promise) {
    if (output_ == Output::body) return refuseMisuse(ctx, promise, "an HTTP request inside the body of another");
    const bool undecided = !requests_.empty() && requests_.back().maySwitch();
    if (output_ == Output::lastSent || undecided || lastResponse_ || expects_ != Input::responses) {
        return refuseMisuse(ctx, promise, "an HTTP request on a connection that accepts no further request");
    }
    const std::string& host = options_.host.empty() && request.method == "CONNECT" ? request.target : options_.host;
    EncodedRequest encoded;
    weft::detail::writeEncoded(ctx, std::move(promise), [&](ChannelOutput& out) {
        encoded = detail::encodeRequest(request, host, [&out](std::size_t bytes) { return out.room(bytes); });
        if (encoded.error != RequestError::none) return false;
        out.produced(encoded.size);
        out.append(std::move(request.body));
        requests_.push({methodOf(request.method), encoded.upgrade});
        closesBehind_ = !encoded.keepAlive;
        output_ = request.streamed ? Output::body : closesBehind_ ? Output::lastSent : Output::open;
        chunked_ = request.streamed && !request.hasLength;
        remaining_ = request.streamed && request.hasLength ? request.contentLength : 0;
        return true;
    });
    if (encoded.error != RequestError::none) return refuseBad(ctx, promise, textOf(encoded.error));
}

void ClientCodec::writeContent(ChannelHandlerContext& ctx, Buffer&& data, ChannelPromise&& promise) {
    if (output_ != Output::body) return refuseMisuse(ctx, promise, "HTTP content outside the body of a request");
    const std::size_t size = data.readableBytes();
    if (!chunked_ && size > remaining_) {
        refuseMisuse(ctx, promise, "more HTTP content than its Content-Length");
        return ctx.pipeline().close({});
    }
    weft::detail::writeEncoded(ctx, std::move(promise), [&](ChannelOutput& out) {
        detail::appendPiece(out, std::move(data), chunked_ && size > 0);
        if (!chunked_) remaining_ -= size;
        return true;
    });
}

// If a trailer must not be sent, all trailers are omitted and the promise fails; the body ends all the same.
void ClientCodec::writeEnd(ChannelHandlerContext& ctx, const HeaderList* trailers, ChannelPromise&& promise) {
    if (output_ != Output::body)
        return refuseMisuse(ctx, promise, "the end of HTTP content outside the body of a request");
    if (remaining_ > 0) {
        refuseMisuse(ctx, promise, "less HTTP content than its Content-Length");
        return ctx.pipeline().close({});
    }
    EncodeError error = EncodeError::none;
    weft::detail::writeEncoded(ctx, std::move(promise), [&](ChannelOutput& out) {
        if (chunked_) error = detail::appendLastChunk(out, trailers);
        output_ = closesBehind_ ? Output::lastSent : Output::open;
        return error == EncodeError::none;
    });
    if (error != EncodeError::none) refuseBad(ctx, promise, textOf(error));
}

}  // namespace weft::http
