// The events of the connection, and the outbound half of the client codec: requests to bytes.
#include <weft/pipeline/http/client_codec.hpp>

#include <algorithm>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

#include "http/codec_log.hpp"
#include "http/misuse.hpp"

namespace weft::http {

namespace {

constexpr std::size_t copiedBody = 1024;  // bodies and pieces up to this size are copied after their head

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

// A message becomes several writes, or a part of one. So its promise, which goes with the last of them, must not remove
// that one alone (W-2).
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
    const bool undecided = !asked_.empty() && asked_.back().maySwitch();
    if (output_ == Output::lastSent || undecided || lastResponse_ || expects_ != Input::responses) {
        return refuseMisuse(ctx, promise, "an HTTP request on a connection that accepts no further request");
    }
    EncodedRequest encoded;
    Buffer head = encode(request, encoded);
    if (encoded.error != RequestError::none) return refuseBad(ctx, promise, textOf(encoded.error));
    noteRequest(request, encoded);
    if (request.body.readableBytes() <= copiedBody) {
        head.append(request.body.view());
        ctx.write(Message(std::move(head)), std::move(promise));
    } else {
        ctx.write(Message(std::move(head)));
        ctx.write(Message(std::move(request.body)), std::move(promise));
    }
}

Buffer ClientCodec::encode(const ClientRequest& request, EncodedRequest& encoded) const {
    OutgoingHead head;
    head.method = request.method;
    head.target = request.target;
    head.host = options_.host.empty() && request.method == "CONNECT" ? request.target : options_.host;
    head.body = request.streamed && !request.hasLength ? BodyKind::chunked : BodyKind::length;
    head.contentLength = request.streamed ? request.contentLength : request.body.readableBytes();
    head.keepAlive = request.keepAlive;
    return request.headers.visit({}, [&](std::span<const HeaderView> headers) {
        head.headers = headers;
        const std::size_t bound = headBound(head);
        const std::size_t body = request.body.readableBytes();
        Buffer out = Buffer::allocate(bound + (body <= copiedBody ? body : 0));
        encoded = encodeHead(head, std::span<char>(out.writeData(), bound));
        out.produced(encoded.size);
        return out;
    });
}

void ClientCodec::noteRequest(const ClientRequest& request, const EncodedRequest& encoded) {
    asked_.push({methodOf(request.method), encoded.upgrade});
    closesBehind_ = !encoded.keepAlive;
    output_ = request.streamed ? Output::body : closesBehind_ ? Output::lastSent : Output::open;
    chunked_ = request.streamed && !request.hasLength;
    remaining_ = request.streamed && request.hasLength ? request.contentLength : 0;
}

void ClientCodec::writeContent(ChannelHandlerContext& ctx, Buffer&& data, ChannelPromise&& promise) {
    if (output_ != Output::body) return refuseMisuse(ctx, promise, "HTTP content outside the body of a request");
    if (!chunked_) {
        if (data.readableBytes() > remaining_) {
            refuseMisuse(ctx, promise, "more HTTP content than its Content-Length");
            return ctx.pipeline().close({});
        }
        remaining_ -= data.readableBytes();
        return ctx.write(Message(std::move(data)), std::move(promise));
    }
    if (data.empty()) return ctx.write(Message(std::move(data)), std::move(promise));
    const std::size_t size = data.readableBytes();
    const bool small = size <= copiedBody;
    Buffer chunk = Buffer::allocate(maxChunkHeadBytes + (small ? size + chunkEnd.size() : 0));
    chunk.produced(writeChunkHead(size, chunk.writeData()));
    if (small) {
        chunk.append(data.view());
        chunk.append(chunkEnd);
        return ctx.write(Message(std::move(chunk)), std::move(promise));
    }
    ctx.write(Message(std::move(chunk)));
    ctx.write(Message(std::move(data)));
    ctx.write(Message(Buffer::wrapStatic(chunkEnd)), std::move(promise));
}

// If a trailer must not be sent, all trailers are omitted and the promise fails; the body ends all the same.
void ClientCodec::writeEnd(ChannelHandlerContext& ctx, const HeaderList* trailers, ChannelPromise&& promise) {
    if (output_ != Output::body)
        return refuseMisuse(ctx, promise, "the end of HTTP content outside the body of a request");
    if (remaining_ > 0) {
        refuseMisuse(ctx, promise, "less HTTP content than its Content-Length");
        return ctx.pipeline().close({});
    }
    output_ = closesBehind_ ? Output::lastSent : Output::open;
    if (!chunked_) return ctx.write(Message(Buffer()), std::move(promise));
    EncodeError error = EncodeError::none;
    Buffer end = Buffer::wrapStatic(lastChunk);
    if (trailers != nullptr) {
        trailers->visit({}, [&](std::span<const HeaderView> fields) {
            Buffer encoded = Buffer::allocate(lastChunkBound(fields));
            encoded.produced(encodeLastChunk(fields, {encoded.writeData(), lastChunkBound(fields)}, error));
            if (error == EncodeError::none) end = std::move(encoded);
        });
    }
    if (error == EncodeError::none) return ctx.write(Message(std::move(end)), std::move(promise));
    ctx.write(Message(std::move(end)));
    refuseBad(ctx, promise, textOf(error));
}

}  // namespace weft::http
