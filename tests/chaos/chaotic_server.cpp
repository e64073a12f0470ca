#include "chaos/chaotic_server.hpp"

#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/scheduler/future.hpp>

#include "chaos/http_exchange.hpp"

namespace weft::test {

namespace {

using http::BodyWriter;
using http::Content;
using http::FullRequest;
using http::LastContent;
using http::Responder;
using http::Response;
using http::Status;
using http::StreamedRequest;

std::atomic<int> liveFibers{0};

// The fibers of `held` requests wait for promise_, unless it is empty. Any thread.
class Release {
  public:
    void hold() {
        const std::lock_guard held(lock_);
        if (!promise_) promise_.emplace();
    }
    void release() {
        std::optional<Promise<void>> promise;
        {
            const std::lock_guard held(lock_);
            promise.swap(promise_);
        }
        if (promise) promise->setValue();
    }
    // Throws when the calling fiber is cancelled.
    void await() {
        std::optional<Future<void>> released;
        {
            const std::lock_guard held(lock_);
            if (promise_) released = promise_->future();
        }
        if (released) released->await();
    }

  private:
    std::mutex lock_;
    std::optional<Promise<void>> promise_;
} heldRequests;

struct CountedFiber {
    CountedFiber() { ++liveFibers; }
    ~CountedFiber() { --liveFibers; }
    CountedFiber(const CountedFiber&) = delete;
    CountedFiber& operator=(const CountedFiber&) = delete;
};

// The state of a request after its handler has returned.
struct Asked {
    HttpExchange exchange;
    http::BodyReader body;
    bool reads = false;  // `body` belongs to the request
};

Response headOf(const HttpExchange& exchange) {
    Response head(static_cast<Status>(exchange.status));
    head.headers.add("X-Id", std::to_string(exchange.id));
    return head;
}

Response answerOf(const HttpExchange& exchange) {
    Response response = headOf(exchange);
    response.body = Buffer::copyOf(exchange.body());
    return response;
}

Response streamedHeadOf(const HttpExchange& exchange) {
    Response head = headOf(exchange);
    head.streamed = true;
    head.hasLength = exchange.hasLength;
    head.contentLength = exchange.hasLength ? exchange.size : 0;
    return head;
}

// A promise that fails the run if it succeeds.
ChannelPromise mustFail(ChannelHandlerContext& ctx, const char* what) {
    ChannelPromise promise = ctx.newPromise();
    promise.addListener([what](const ChannelFuture& done) {
        if (done.success()) wrong(std::string(what) + " was taken");
    });
    return promise;
}

void wait(const HttpExchange& exchange) {
    if (exchange.delay > 8) return thisFiber::sleepFor(exchange.delay * std::chrono::microseconds(10));
    for (unsigned i = 0; i < exchange.delay; ++i) thisFiber::yield();
}

// Reads the whole upload; throws when the rest of it does not arrive.
void readUpload(Asked& asked) {
    if (!asked.reads) return;
    std::string all;
    while (const auto piece = asked.body.read()) {
        all += piece->view();
        wait(asked.exchange);
    }
    if (all != asked.exchange.uploaded()) wrong(asked.exchange.target() + ": an upload arrives changed");
}

void sendPieces(BodyWriter& writer, std::string_view bytes, const HttpExchange& exchange) {
    for (Dice dice(exchange.id); !bytes.empty();) {
        const std::string_view piece = bytes.substr(0, 1 + dice.size(20'000));
        if (dice.oneIn(4)) writer.write(Buffer::copyOf(piece));
        else writer.send(Buffer::copyOf(piece));
        bytes.remove_prefix(piece.size());
        if (dice.oneIn(4)) wait(exchange);
    }
}

void stream(Responder& responder, const HttpExchange& exchange) {
    const std::string body = exchange.body();
    BodyWriter writer = responder.begin(streamedHeadOf(exchange));
    if (exchange.how == How::cut) return sendPieces(writer, std::string_view(body).substr(body.size() / 2), exchange);
    if (exchange.how == How::shortOfPromise) {
        sendPieces(writer, std::string_view(body).substr(1), exchange);
        return writer.end();
    }
    sendPieces(writer, body, exchange);
    http::HeaderList trailers;
    trailers.add("X-Trailer", std::to_string(exchange.id));
    writer.end(std::move(trailers));
}

void answerLate(Responder& responder, const HttpExchange& exchange) {
    Channel& channel = responder.channel();
    ChannelPromise refused = channel.newPromise();
    channel.writeAndFlush(Message(http::ok("a foreign answer")), refused);
    refused.future().await();
    if (refused.future().success()) wrong(exchange.target() + ": an answer to no request was taken");
    responder.send(answerOf(exchange));
}

void inFiber(Responder& responder, Asked& asked) {
    const CountedFiber counted;
    if (asked.exchange.how == How::never) return thisFiber::sleepFor(std::chrono::hours(24));
    if (asked.exchange.how == How::held) heldRequests.await();
    readUpload(asked);
    wait(asked.exchange);
    switch (asked.exchange.how) {
        case How::writer:
        case How::cut:
        case How::shortOfPromise: return stream(responder, asked.exchange);
        case How::late: return answerLate(responder, asked.exchange);
        case How::throwsInFiber: throw std::runtime_error("a fiber throws");
        default: return responder.send(answerOf(asked.exchange));
    }
}

void answerWithInterims(Responder responder, const HttpExchange& exchange) {
    for (int i = 0; i < 2; ++i) responder.sendInterim(Response(Status::earlyHints));
    try {
        responder.send(Response(Status::earlyHints));
        wrong("Responder::send() takes a 103");
    } catch (const std::invalid_argument&) {
    }
    responder.send(answerOf(exchange));
}

void writePieces(ChannelHandlerContext& ctx, const HttpExchange& exchange) {
    const std::string body = exchange.body();
    ctx.write(Message(streamedHeadOf(exchange)));
    Dice dice(exchange.id);
    for (std::string_view rest = body; !rest.empty();) {
        const std::string_view piece = rest.substr(0, 1 + dice.size(20'000));
        // After a granted CONNECT, a Buffer belongs to the tunnel.
        if (exchange.method != "CONNECT" && dice.oneIn(2)) ctx.write(Message(Buffer::copyOf(piece)));
        else ctx.write(Message(Content{Buffer::copyOf(piece)}));
        rest.remove_prefix(piece.size());
    }
    ctx.writeAndFlush(Message(LastContent{}));
}

// Throws for each response whose exchange tells it to.
struct ThrowingWriter final : ChannelOutboundHandler {
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
        if (message.is<Response>() && message.get<Response>().headers.contains("X-Throw")) {
            throw std::runtime_error("a handler throws in write()");
        }
        ctx.write(std::move(message), std::move(promise));
    }
};

// Handles the bytes after a granted CONNECT.
struct Tunnel final : SimpleInboundHandler<Buffer> {
    void channelRead0(ChannelHandlerContext& ctx, Buffer bytes) override {
        ctx.writeAndFlush(Message(std::move(bytes)));
    }
};

template <class Request>
class Answerer final : public SimpleInboundHandler<Request> {
  public:
    explicit Answerer(CarrierGroup& carriers) : carriers_(carriers) {}

  private:
    void channelRead0(ChannelHandlerContext& ctx, Request request) override {
        Asked asked{
            HttpExchange::of(request.target(), request.methodText(), request.version() == http::Version::http11), {}};
        takeBody(request, asked);
        switch (asked.exchange.how) {
            case How::inDelivery: return ctx.writeAndFlush(Message(answerOf(asked.exchange)));
            case How::toRequest: return ctx.writeAndFlush(Message(answerOf(asked.exchange).to(request)));
            case How::responder: return request.responder().send(answerOf(asked.exchange));
            case How::pieces: return writePieces(ctx, asked.exchange);
            case How::stray: return writeStray(ctx, asked.exchange);
            case How::interim: return answerWithInterims(request.responder(), asked.exchange);
            case How::untaken: return void(ctx.fireChannelRead(Message(std::move(request))));
            case How::dropped: return;
            case How::throwsInRead: throw std::runtime_error("a handler throws in channelRead()");
            case How::throwsInWrite: return writeThrowing(ctx, asked.exchange);
            case How::otherCarrier: return answerFromOtherCarrier(ctx, request.responder(), std::move(asked));
            default: return spawn(ctx, request.responder(), std::move(asked));
        }
    }

    static void takeBody(FullRequest& request, Asked& asked) {
        if (request.body() != asked.exchange.uploaded()) wrong(asked.exchange.target() + ": an upload arrives changed");
    }
    static void takeBody(StreamedRequest& request, Asked& asked) {
        asked.body = request.takeBody();
        asked.reads = true;
    }
    static void writeStray(ChannelHandlerContext& ctx, const HttpExchange& exchange) {
        ctx.write(Message(Buffer::copyOf("HTTP/1.1 200 OK\r\nX-Id: stray\r\nContent-Length: 0\r\n\r\n")),
                  mustFail(ctx, "a Buffer outside of a body"));
        ctx.writeAndFlush(Message(answerOf(exchange)));
    }
    static void writeThrowing(ChannelHandlerContext& ctx, const HttpExchange& exchange) {
        Response response = answerOf(exchange);
        response.headers.add("X-Throw", "1");
        ctx.writeAndFlush(Message(std::move(response)));
    }
    static void spawn(ChannelHandlerContext& ctx, Responder responder, Asked&& asked) {
        ctx.spawn(
            [responder = std::move(responder), asked = std::move(asked)]() mutable { inFiber(responder, asked); });
    }
    void answerFromOtherCarrier(ChannelHandlerContext& ctx, Responder responder, Asked&& asked) {
        Carrier& other = carriers_.carrier((ctx.loop().carrier()->index() + 1) % carriers_.size());
        other.spawnDetached(
            [responder = std::move(responder), asked = std::move(asked)]() mutable { inFiber(responder, asked); });
    }

    CarrierGroup& carriers_;
};

http::ServerCodecOptions codecOptions(http::InputEnd inputEnd) {
    http::ServerCodecOptions options;
    options.maxInFlight = 8;
    options.inputEnd = inputEnd;
    return options;
}

}  // namespace

ChaoticServer::ChaoticServer() {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) serve(kind);
}

void ChaoticServer::serve(std::size_t kind) {
    ServerBootstrap bootstrap(group_);
    bootstrap.childHandler([this, kind](Channel& channel) {
        ChannelPipeline& pipeline = channel.pipeline();
        pipeline.addLast<http::ServerCodec>(codecOptions(kinds[kind].inputEnd));
        if (kinds[kind].streamed) {
            pipeline.addLast<http::BodyStreamer>().template addLast<ThrowingWriter>();
            pipeline.addLast<Answerer<StreamedRequest>>(group_.carriers());
        } else {
            pipeline.addLast<http::ObjectAggregator>().template addLast<ThrowingWriter>();
            pipeline.addLast<Answerer<FullRequest>>(group_.carriers());
        }
        pipeline.addLast<Tunnel>();
    });
    servers_[kind] = bootstrap.bind(anyPort).sync().channel();
}

void ChaoticServer::hold(bool on) {
    on ? heldRequests.hold() : heldRequests.release();
}

std::size_t ChaoticServer::connections() const {
    std::size_t all = 0;
    for (const Server& server : servers_) all += server.liveChildren();
    return all;
}

void ChaoticServer::awaitIdle() {
    if (eventually([this] { return connections() == 0 && liveFibers == 0; })) return;
    wrong("all clients have gone, and there are " + std::to_string(connections()) + " connections and " +
          std::to_string(liveFibers) + " fibers");
}

}  // namespace weft::test
