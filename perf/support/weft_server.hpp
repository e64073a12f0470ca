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
#include <weft/transports/uring/uring_io_handler.hpp>

#include "endpoint.hpp"
#include "polled_uring_calls.hpp"

namespace weft::perf {

inline http::Response answerTo(const http::FullRequest& request, std::string_view path) {
    if (request.path() != path) return http::error(http::Status::notFound);
    return http::ok(Buffer::wrapStatic("Hello, World!"));
}

// Answers in the handler.
struct InlineHandler final : SimpleInboundHandler<http::FullRequest> {
    explicit InlineHandler(std::string_view itsPath) : path(itsPath) {}
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        ctx.writeAndFlush(answerTo(request, path));
    }
    std::string_view path;
};

// What a fiber answers with: a copyable Response(const FullRequest&).
struct PlainAnswer {
    std::string_view path;
    http::Response operator()(const http::FullRequest& request) const { return answerTo(request, path); }
};

// Answers from a fiber on the connection's carrier.
template <class Answer>
struct FiberHandler final : SimpleInboundHandler<http::FullRequest> {
    explicit FiberHandler(const Answer& itsAnswer) : answer(itsAnswer) {}
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        ctx.spawn([responder = request.responder(), request = std::move(request), answer = answer]() mutable {
            responder.send(answer(request));
        });
    }
    Answer answer;
};

// Answers from a fiber of another group of threads: the split that Weft replaces. The requests go to its carriers in
// turn, the answers come back by the loop's queue.
template <class Answer>
struct SplitHandler final : SimpleInboundHandler<http::FullRequest> {
    SplitHandler(CarrierGroup& itsWorkers, const Answer& itsAnswer) : workers(itsWorkers), answer(itsAnswer) {}
    void channelRead0(ChannelHandlerContext&, http::FullRequest request) override {
        workers.next().spawnDetached([responder = request.responder(), request = std::move(request),
                                      answer = answer]() mutable { responder.send(answer(request)); });
    }
    CarrierGroup& workers;
    Answer answer;
};

// What every Weft server of the rig is told.
struct ServerFlags {
    explicit ServerFlags(Flags& flags) : listen(flags.text("--listen", "127.0.0.1:0")) {
        transport = flags.text("--transport", "epoll");
        pollsRing = flags.number("--poll-ring", 0, 0, 1) != 0;
        loop.ioBudget =
            std::chrono::microseconds(flags.number("--poll-us", inMicroseconds(loop.ioBudget), 1, 1'000'000));
    }
    static long inMicroseconds(Duration time) {
        return static_cast<long>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
    }
    std::string listen;
    std::string transport;
    bool pollsRing = false;    // under an instrument: see PolledUringCalls
    EventLoop::Options loop;

    EventLoopGroupOptions group(std::string name = "weft", unsigned carriers = 1) const {
        EventLoopGroupOptions options;
        options.name = std::move(name);
        options.carriers = carriers;
        options.transport = Transport::parse(transport);
        options.loop = loop;
        if (pollsRing) {
            options.transport = Transport::Kind::epoll;    // which polledRing() replaces
            options.ioHandler = polledRing;
        }
        return options;
    }
    static std::unique_ptr<IoHandler> polledRing(std::unique_ptr<SocketIoHandler>) {
        static PolledUringCalls calls;    // the servers that are counted have one carrier
        return std::make_unique<UringIoHandler>(UringOptions(), calls, SystemCalls::kernel());
    }

    // Carriers that others hand work to. A fiber that another thread spawns takes its stack from the group's pool; with
    // a cache of one it goes back there as it is, instead of into a cache that overflows and empties each stack first.
    EventLoopGroupOptions workers(unsigned carriers) const {
        EventLoopGroupOptions options = group("work", carriers);
        options.cachedStacks = 1;
        return options;
    }
};

// Binds a server on `group` whose connections have the codec, and behind it what `addHandlers` (of a ChannelPipeline&)
// adds; announces it.
template <class AddHandlers>
Server bindHttp(EventLoopGroup& group, const std::string& listen, AddHandlers addHandlers) {
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([addHandlers](Channel& channel) {
        channel.pipeline().addLast<http::ServerCodec>(http::ServerCodecOptions{.serverName = "weft"});
        channel.pipeline().addLast<http::ObjectAggregator>();
        addHandlers(channel.pipeline());
    });
    Server server = bootstrap.bind(SocketAddress::parse(listen)).sync().channel();
    announce(server.localAddress().toString());
    return server;
}

// Runs main() of a server: what is wrong with its flags, and what the machine refuses, is told in a line.
template <class Body>
int runServer(const Flags& flags, Body body) {
    try {
        return body();
    } catch (const std::invalid_argument& error) {
        flags.fail(error.what());
    } catch (const std::exception& error) {
        die(error.what());
    }
}

// main() of a server that knows no other flags. `ioHandler` may decorate the loop's own.
template <class AddHandlers>
int serve(int argc, char** argv, AddHandlers addHandlers, decltype(EventLoopGroupOptions::ioHandler) ioHandler = {}) {
    Flags flags(argc, argv, "[--listen ADDR:PORT] [--transport epoll] [--poll-us MICROSECONDS]");
    const ServerFlags wanted(flags);
    flags.finish();
    return runServer(flags, [&] {
        EventLoopGroupOptions options = wanted.group();
        if (ioHandler) options.ioHandler = std::move(ioHandler);
        EventLoopGroup group(options);
        const Server server = bindHttp(group, wanted.listen, addHandlers);
        return runUntilSignal(group);
    });
}

// Serves until a signal from `group`, whose handlers hand requests to `workers`: these end when nothing more can come.
template <class Workers>
int runSplitUntilSignal(EventLoopGroup& group, Workers& workers, ShutdownSignals& signals) {
    signals.wait();
    group.drain();
    const bool workersEnded = workers.shutdown(EventLoopGroup::defaultDrainTime);
    return group.shutdown(EventLoopGroup::defaultDrainTime) && workersEnded ? 0 : runFailed;
}

}  // namespace weft::perf
