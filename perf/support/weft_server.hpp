// A Weft HTTP server of one carrier for the scenarios: the full pipeline and the real codec, answered inline or by a
// fiber per request.
#pragma once

#include <string>
#include <utility>

#include <weft/framework/event_loop_group.hpp>
#include <weft/framework/run_until_signal.hpp>
#include <weft/framework/server_bootstrap.hpp>
#include <weft/pipeline/context_spawn.hpp>
#include <weft/pipeline/http/object_aggregator.hpp>
#include <weft/pipeline/http/server_codec.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>

#include "endpoint.hpp"

namespace weft::perf {

inline http::Response answerTo(const http::FullRequest& request, std::string_view path) {
    if (request.path() != path) return http::error(http::Status::notFound);
    return http::ok(Buffer::wrapStatic("Hello, World!"));
}

// Answers in the handler.
struct InlineHandler final : SimpleInboundHandler<http::FullRequest> {
    explicit InlineHandler(std::string_view itsPath) : path(itsPath) {}
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        ctx.writeAndFlush(Message(answerTo(request, path)));
    }
    std::string_view path;
};

// Answers from a fiber on the connection's carrier.
struct FiberHandler final : SimpleInboundHandler<http::FullRequest> {
    explicit FiberHandler(std::string_view itsPath) : path(itsPath) {}
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        ctx.spawn([responder = request.responder(), request = std::move(request), path = path]() mutable {
            responder.send(answerTo(request, path));
        });
    }
    std::string_view path;
};

template <class Handler>
int serve(int argc, char** argv, std::string_view path) {
    Flags flags(argc, argv, "[--listen ADDR:PORT] [--transport epoll]");
    const std::string listen = flags.text("--listen", "127.0.0.1:0");
    const std::string transport = flags.text("--transport", "epoll");
    flags.finish();
    try {
        EventLoopGroupOptions options;
        options.carriers.carriers = 1;
        options.transport = Transport::parse(transport);
        EventLoopGroup group(options);
        ServerBootstrap bootstrap(group);
        bootstrap.childHandler([path](Channel& channel) {
            channel.pipeline().addLast<http::ServerCodec>(http::ServerCodecOptions{.serverName = "weft"});
            channel.pipeline().addLast<http::ObjectAggregator>();
            channel.pipeline().addLast<Handler>(path);
        });
        const Server server = bootstrap.bind(SocketAddress::parse(listen)).sync().channel();
        std::printf("listening on %s\n", server.localAddress().toString().c_str());
        std::fflush(stdout);
        return runUntilSignal(group);
    } catch (const std::invalid_argument& error) {
        flags.fail(error.what());
    } catch (const std::exception& error) {
        die(error.what());
    }
}

}  // namespace weft::perf
