// A Weft HTTP server of one carrier for the scenarios: the full pipeline and the real codec, answered inline or by a
// fiber per request.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <weft/framework/event_loop_group.hpp>
#include <weft/framework/run_until_signal.hpp>
#include <weft/framework/server_bootstrap.hpp>
#include <weft/http/object_aggregator.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/pipeline/context_spawn.hpp>
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
    explicit InlineHandler(std::string_view path) : path(path) {}
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        ctx.writeAndFlush(answerTo(request, path));
    }
    std::string_view path;
};

// What a fiber calls for its answer: a copyable Response(const FullRequest&).
struct PlainAnswer {
    std::string_view path;
    http::Response operator()(const http::FullRequest& request) const { return answerTo(request, path); }
};

// Answers from a fiber on the connection's carrier.
template <class Answer>
struct FiberHandler final : SimpleInboundHandler<http::FullRequest> {
    explicit FiberHandler(const Answer& answer) : answer(answer) {}
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        ctx.spawn([responder = request.responder(), request = std::move(request),
                   answer = answer]() mutable { responder.send(answer(request)); },
                  {.stealable = Stealable::fresh});
    }
    Answer answer;
};

// Answers from a fiber of another group of carriers: the split that Weft replaces. Requests go to those carriers in
// turn; answers come back through the loop's queue.
template <class Answer>
struct SplitHandler final : SimpleInboundHandler<http::FullRequest> {
    SplitHandler(CarrierGroup& workers, const Answer& answer) : workers(workers), answer(answer) {}
    void channelRead0(ChannelHandlerContext&, http::FullRequest request) override {
        workers.next().spawnDetached([responder = request.responder(), request = std::move(request),
                                      answer = answer]() mutable { responder.send(answer(request)); });
    }
    CarrierGroup& workers;
    Answer answer;
};

// The flags of every Weft server of the rig.
struct ServerFlags {
    static constexpr std::string_view usage =
        "[--listen ADDR:PORT] [--transport epoll] [--poll-us MICROSECONDS] [--carriers 1]";

    explicit ServerFlags(Flags& flags) : listen(flags.text("--listen", "127.0.0.1:0")) {
        transport = flags.text("--transport", "epoll");
        pollsRing = flags.number("--poll-ring", 0, 0, 1) != 0;
        loop.ioBudget =
            std::chrono::microseconds(flags.number("--poll-us", inMicroseconds(loop.ioBudget), 1, 1'000'000));
        carriers = static_cast<unsigned>(flags.number("--carriers", 1, 1, 1024));
    }
    static long inMicroseconds(Duration time) {
        return static_cast<long>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
    }
    std::string listen;
    std::string transport;
    bool pollsRing = false;  // under valgrind: see PolledUringCalls
    EventLoop::Options loop;
    unsigned carriers = 1;

    EventLoopGroupOptions group() const { return group("weft", carriers); }
    EventLoopGroupOptions group(std::string name, unsigned count) const {
        EventLoopGroupOptions options;
        options.name = std::move(name);
        options.carriers = count;
        options.transport = Transport::parse(transport);
        options.loop = loop;
        if (pollsRing) {
            options.transport = Transport::Kind::epoll;  // polledRing() replaces it
            options.ioHandler = polledRing;
        }
        return options;
    }
    static std::unique_ptr<IoHandler> polledRing(std::unique_ptr<SocketIoHandler>) {
        static PolledUringCalls calls;  // servers under valgrind have one carrier
        return std::make_unique<UringIoHandler>(UringOptions(), calls, SystemCalls::kernel());
    }

    // For carriers that other threads hand work to. A fiber that another thread spawns takes its stack from the group's
    // pool. With a cache of one stack it goes back there as it is; a larger cache overflows and empties each stack
    // first.
    EventLoopGroupOptions workers(unsigned count) const {
        EventLoopGroupOptions options = group("work", count);
        options.cachedStacks = 1;
        return options;
    }
};

// Binds a server on `group` and prints the listening line. Its connections have the codec, then the handlers that
// `addHandlers` adds to their ChannelPipeline&.
template <class AddHandlers>
Server bindHttp(EventLoopGroup& group, const std::string& listen, AddHandlers addHandlers) {
    ServerBootstrap bootstrap(group);
    const auto options =
        std::make_shared<const http::ServerCodecOptions>(http::ServerCodecOptions{.serverName = "weft"});
    bootstrap.childHandler([options, addHandlers](Channel& channel) {
        channel.pipeline().addLast<http::ServerCodec>(options);
        channel.pipeline().addLast<http::ObjectAggregator>();
        addHandlers(channel.pipeline());
    });
    Server server = bootstrap.bind(SocketAddress::parse(listen)).sync().channel();
    announce(server.localAddress().toString());
    return server;
}

// Runs main() of a server; reports wrong flags and failed system calls in one line.
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

// Serves until a signal; all flags must have been read. `ioHandler` may decorate the loop's own.
template <class AddHandlers>
int serve(const Flags& flags, const ServerFlags& wanted, AddHandlers addHandlers,
          decltype(EventLoopGroupOptions::ioHandler) ioHandler = {}) {
    flags.finish();
    return runServer(flags, [&] {
        EventLoopGroupOptions options = wanted.group();
        if (ioHandler) options.ioHandler = std::move(ioHandler);
        EventLoopGroup group(options);
        const Server server = bindHttp(group, wanted.listen, addHandlers);
        return runUntilSignal(group);
    });
}

// main() of a server that has no other flags.
template <class AddHandlers>
int serve(int argc, char** argv, AddHandlers addHandlers, decltype(EventLoopGroupOptions::ioHandler) ioHandler = {}) {
    Flags flags(argc, argv, ServerFlags::usage);
    const ServerFlags wanted(flags);
    return serve(flags, wanted, addHandlers, std::move(ioHandler));
}

// Serves from `group` until a signal; its handlers hand requests to `workers`, which end after the last request.
template <class Workers>
int runSplitUntilSignal(EventLoopGroup& group, Workers& workers, ShutdownSignals& signals) {
    signals.wait();
    group.drain();
    const bool workersEnded = workers.shutdown(EventLoopGroup::defaultDrainTime);
    return group.shutdown(EventLoopGroup::defaultDrainTime) && workersEnded ? 0 : runFailed;
}

}  // namespace weft::perf
