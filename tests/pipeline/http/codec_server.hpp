// Shared by the tests of the server codec: an embedded server and applications for it.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/http/object_aggregator.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>

namespace weft::http::test {

// Keeps each request, or answers it with `answer`.
struct Application final : SimpleInboundHandler<FullRequest> {
    using Answer = std::function<void(ChannelHandlerContext&, FullRequest&)>;
    explicit Application(Answer answer) : answer(std::move(answer)) {}
    void channelRead0(ChannelHandlerContext& ctx, FullRequest request) override { answer(ctx, request); }
    Answer answer;
};

struct Server {
    explicit Server(Application::Answer answer, ServerCodecOptions options = {}, std::size_t maxBody = 1000) {
        channel.pipeline().addLast<ServerCodec>(std::move(options));
        channel.pipeline().addLast<ObjectAggregator>(maxBody);
        channel.pipeline().addLast<Application>(std::move(answer));
    }
    // The server's output for these bytes.
    std::string say(std::string_view bytes) {
        channel.writeInbound(Buffer::copyOf(bytes));
        return heard();
    }
    std::string heard() {
        channel.runPendingTasks();
        return channel.readOutboundText();
    }
    EmbeddedChannel channel;
};

inline void hello(ChannelHandlerContext& ctx, FullRequest&) {
    ctx.writeAndFlush(Message(ok("Hello, World!")));
}

inline void echo(ChannelHandlerContext& ctx, FullRequest& request) {
    Response response = ok(request.takeBody());
    response.to(request);
    ctx.writeAndFlush(Message(std::move(response)));
}

// Keeps the responders so that a test can answer in any order.
struct Keeper {
    std::deque<Responder> waiting;
    Application::Answer keep() {
        return [this](ChannelHandlerContext&, FullRequest& request) { waiting.push_back(request.responder()); };
    }
};

inline const std::string get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

inline std::string post(std::string_view body) {
    return "POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
}

inline std::size_t count(const std::string& text, std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

}  // namespace weft::http::test
