// Draining: Server::drain(), EventLoopGroup::drain(), runUntilSignal().
#include <weft/framework/run_until_signal.hpp>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <weft/pipeline/channel_events.hpp>

#include "framework/bench.hpp"
#include "support/log_capture.hpp"

namespace weft::test {
namespace {

// Creates the descriptor that stays open for the process's life, so that no test counts it as a leak.
[[maybe_unused]] const bool signalsWereTaken = (ShutdownSignals(), true);

// "/wait" is answered when the test allows it, everything else at once.
struct Gate {
    Promise<void> asked;
    Promise<void> open;
};

class Application final : public SimpleInboundHandler<http::FullRequest> {
  public:
    explicit Application(Gate& gate) : gate_(gate) {}

  protected:
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        if (request.path() != "/wait") return request.responder().send(http::ok("at once"));
        gate_.asked.setValue();
        ctx.spawn([open = gate_.open.future(), responder = request.responder()]() mutable {
            open.await();
            responder.send(http::ok("at last"));
        });
    }

  private:
    Gate& gate_;
};

Server serveHttp(EventLoopGroup& group, Gate& gate) {
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([&gate](Channel& channel) {
        channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Application>(gate);
    });
    return bootstrap.bind(anyPort).sync().channel();
}

std::string receiveAll(BlockingPeer& peer) {
    std::string all;
    for (std::string more = peer.receive(); !more.empty(); more = peer.receive()) all += more;
    return all;
}

constexpr std::string_view waitRequest = "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n";

TEST(DrainTest, IdleConnectionsAreClosedAndRequestsInProgressAreAnsweredFirst) {
    DescriptorGuard descriptors;
    EventLoopGroup group(
        groupOptions(1));  // one loop: once the idle connection has received the drain, the other one has too
    Gate gate;
    Server server = serveHttp(group, gate);
    BlockingPeer idle(server.localAddress());
    idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(idle.receive().find("200 OK"), std::string::npos);
    BlockingPeer busy(server.localAddress());
    busy.send(waitRequest);
    gate.asked.future().get();
    std::thread drainer([&] { EXPECT_EQ(server.drain(20s), 0u); });
    EXPECT_EQ(receiveAll(idle), "");  // the drain has begun
    gate.open.setValue();
    const std::string answer = receiveAll(busy);
    drainer.join();
    EXPECT_NE(answer.find("at last"), std::string::npos) << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
    EXPECT_EQ(server.liveChildren(), 0u);
}

TEST(DrainTest, ConnectionsThatDoNotEndInTimeAreClosedAndCounted) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(2));
    Server server = serveEcho(group);  // its handler ignores drains
    BlockingPeer first(server.localAddress());
    BlockingPeer second(server.localAddress());
    EXPECT_EQ(echoed(first, "1"), "1");
    EXPECT_EQ(echoed(second, "2"), "2");
    EXPECT_EQ(group.drain(1ms), 2u);
    EXPECT_EQ(first.receive(), "");
    EXPECT_EQ(second.receive(), "");
    EXPECT_TRUE(eventually([&] { return server.liveChildren() == 0; }));
}

TEST(DrainTest, AGroupDrainsAllItsServers) {
    EventLoopGroup group(groupOptions(2));
    EventLoopGroup workers(groupOptions(1));
    Gate gate;
    Server first = serveHttp(group, gate);
    Server second = serveHttp(group, gate);
    ServerBootstrap bootstrap(group, workers);
    bootstrap.childHandler([](Channel& channel) { channel.pipeline().addLast<http::ServerCodec>(); });
    Server third = bootstrap.bind(anyPort).sync().channel();
    EXPECT_EQ(group.drain(20s), 0u);
    for (const Server& server : {first, second, third}) {
        for (const auto& listener : server.listeners()) EXPECT_TRUE(listener->closed());
    }
    EXPECT_EQ(workers.drain(20s), 0u);
}

// More connections than one round of accepts takes; the close would reset those that wait for the next round.
TEST(DrainTest, ConnectionsThatTheKernelHasMadeAreServedAfterTheListenersClose) {
    EventLoopGroup group(groupOptions(1));
    Server server = serveEcho(group);
    std::atomic<bool> release{false};
    group.loop(0).execute([&] {
        while (!release) std::this_thread::yield();
    });
    std::vector<std::unique_ptr<BlockingPeer>> peers;
    for (int i = 0; i < 50; ++i) {
        peers.push_back(std::make_unique<BlockingPeer>(server.localAddress()));
        peers.back()->send("x");
    }
    const Future<void> closed = server.close();
    release = true;
    closed.get();
    for (auto& peer : peers) EXPECT_EQ(peer->receive(), "x");
}

TEST(DrainTest, AServerWithoutAHandleIsDrainedToo) {
    EventLoopGroup group(groupOptions(1));
    const SocketAddress address = serveEcho(group).localAddress();
    BlockingPeer peer(address);
    EXPECT_EQ(echoed(peer, "x"), "x");
    EXPECT_EQ(group.drain(1ms), 1u);
    EXPECT_EQ(peer.receive(), "");
}

// An echo that obeys a drain. "stick" blocks its loop inside the handler until the test releases it.
class Stuck final : public ChannelInboundHandler {
  public:
    static inline std::atomic<bool> stuck{false};

    explicit Stuck(std::atomic<bool>& release) : release_(release) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        while (message.get<Buffer>().view() == "stick" && !release_) {
            stuck = true;
            std::this_thread::yield();
        }
        ctx.writeAndFlush(std::move(message));
    }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        if (event.is<DrainStarted>()) ctx.close();
    }

  private:
    std::atomic<bool>& release_;
};

// Two connections on two loops; the listener and the first connection share a loop.
struct StuckLoop {
    EventLoopGroup group{groupOptions(2)};
    std::atomic<bool> release{false};
    Server quiet = serveEcho(group);  // another server on the same loops
    Server server = bind();
    BlockingPeer stuck{server.localAddress()};
    BlockingPeer other{server.localAddress()};

    StuckLoop() {
        EXPECT_EQ(echoed(stuck, "1"), "1");
        EXPECT_EQ(echoed(other, "2"), "2");
        Stuck::stuck = false;
        stuck.send("stick");
        EXPECT_TRUE(eventually([] { return Stuck::stuck.load(); }));  // else the drain may run before the bytes arrive
    }
    Server bind() {
        ServerBootstrap bootstrap(group);
        bootstrap.acceptMode(AcceptMode::single).childHandler([this](Channel& channel) {
            channel.pipeline().addLast<Stuck>(release);
        });
        return bootstrap.bind(anyPort).sync().channel();
    }
};

TEST(DrainTest, AHandlerThatDoesNotReturnIsLeftBehindAndCounted) {
    StuckLoop bench;
    // The handler returns only after drain() has, so drain() has not waited for it.
    EXPECT_EQ(bench.group.drain(1s), 1u);
    EXPECT_EQ(bench.other.receive(), "");
    bench.release = true;
    EXPECT_EQ(bench.stuck.receive(), "stick");  // the drain's tasks run after the handler
    EXPECT_EQ(bench.stuck.receive(), "");
}

TEST(DrainTest, AnUnresponsiveLoopDoesNotDelayOtherLoops) {
    StuckLoop bench;
    std::thread drainer([&] { EXPECT_EQ(bench.server.drain(60s), 0u); });
    EXPECT_EQ(bench.other.receive(), "");  // the drain reaches it although the listener's loop does not respond
    bench.release = true;
    drainer.join();
}

TEST(DrainTest, AConnectionThatArrivesAfterTheDrainIsDrainedToo) {
    EventLoopGroup acceptors(groupOptions(1));
    EventLoopGroup workers(groupOptions(1));
    ServerBootstrap bootstrap(acceptors, workers);
    std::atomic<unsigned> told{0};
    struct Listens final : ChannelInboundHandler {
        explicit Listens(std::atomic<unsigned>& told) : told_(told) {}
        void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
            if (!event.is<DrainStarted>()) return;
            ++told_;
            ctx.close();
        }
        std::atomic<unsigned>& told_;
    };
    bootstrap.childHandler([&](Channel& channel) { channel.pipeline().addLast<Listens>(told); });
    Server server = bootstrap.bind(anyPort).sync().channel();
    std::vector<std::unique_ptr<BlockingPeer>> peers;
    for (int i = 0; i < 50; ++i) peers.push_back(std::make_unique<BlockingPeer>(server.localAddress()));
    EXPECT_TRUE(eventually([&] { return server.liveChildren() > 0; }));
    EXPECT_EQ(server.drain(20s), 0u);  // some connections are being handed from loop to loop
    EXPECT_EQ(server.liveChildren(), 0u);
    EXPECT_GT(told, 0u);
}

// A fiber named "worker" handles each request.
using Work = std::function<void(http::Responder&)>;

struct Works final : SimpleInboundHandler<http::FullRequest> {
    Works(const Work& work, Promise<void>& begun) : work_(work), begun_(begun) {}
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        ctx.spawn(
            [this, responder = request.responder()]() mutable {
                begun_.setValue();
                work_(responder);
            },
            {.name = "worker"});
    }
    const Work& work_;
    Promise<void>& begun_;
};

// One connection whose request is being handled.
struct WorkingServer {
    explicit WorkingServer(Work itsWork) : work(std::move(itsWork)) {
        peer.send(waitRequest);
        begun.future().get();
    }
    Server bind() {
        ServerBootstrap bootstrap(group);
        bootstrap.childHandler([this](Channel& channel) {
            channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Works>(work,
                                                                                                             begun);
        });
        return bootstrap.bind(anyPort).sync().channel();
    }
    LogCapture log;
    Work work;
    Promise<void> begun;
    EventLoopGroup group{groupOptions(1)};
    Server server = bind();
    BlockingPeer peer{server.localAddress()};
};

TEST(DrainTest, TheFibersOfLateConnectionsAreCancelledAndNamed) {
    WorkingServer bench([](http::Responder& responder) {
        thisFiber::sleepFor(1h);
        responder.send(http::ok("never"));
    });
    EXPECT_EQ(bench.server.drain(1ms), 1u);
    const std::string answer = receiveAll(bench.peer);  // sent by the codec for the dropped Responder
    EXPECT_NE(answer.find(" 500 "), std::string::npos) << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
    EXPECT_EQ(bench.log.count("1 connection(s)", "were closed"), 1) << bench.log.text();
    EXPECT_EQ(bench.log.count("channel ", "127.0.0.1:", "fiber 'worker' for ", " ms"), 1) << bench.log.text();
    EXPECT_EQ(bench.log.count("still runs"), 0) << bench.log.text();
}

TEST(DrainTest, AFiberMayAnswerWhenItIsCancelled) {
    WorkingServer bench([](http::Responder& responder) {
        ErrorCode error;
        thisFiber::sleepFor(1h, error);
        responder.send(http::ok("cut short"));
    });
    EXPECT_EQ(bench.server.drain(1ms), 1u);
    EXPECT_NE(receiveAll(bench.peer).find("cut short"), std::string::npos);
}

TEST(DrainTest, AFiberThatSwallowsItsCancellationIsNamedAtTheEnd) {
    std::atomic<bool> release{false};
    WorkingServer bench([&](http::Responder&) {
        ErrorCode error;
        while (!release) thisFiber::sleepFor(1h, error);
    });
    EXPECT_EQ(bench.server.drain(1ms), 1u);
    EXPECT_EQ(receiveAll(bench.peer), "");  // closed all the same
    EXPECT_EQ(bench.log.count("fiber 'worker'", "still runs after it was cancelled"), 1) << bench.log.text();
    release = true;
}

TEST(DrainTest, AConnectionThatHasNoFiberIsLoggedToo) {
    LogCapture log;
    EventLoopGroup group(groupOptions(1));
    Server server = serveEcho(group);
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(echoed(peer, "x"), "x");
    EXPECT_EQ(server.drain(1ms), 1u);
    EXPECT_EQ(log.count("channel ", "127.0.0.1:", "no fiber; its handlers have not closed it"), 1) << log.text();
}

TEST(RunUntilSignalTest, DrainsAnswersAndReturnsZero) {
    DescriptorGuard before;
    for (const int signal : {SIGTERM, SIGINT}) {
        EventLoopGroup group(groupOptions(2));
        Gate gate;
        Server server = serveHttp(group, gate);
        const ShutdownSignals signals;  // from here on a signal is kept
        BlockingPeer peer(server.localAddress());
        peer.send(waitRequest);
        gate.asked.future().get();
        ::kill(::getpid(), signal);
        std::thread opener([&] {
            EXPECT_TRUE(eventually([&] { return server.listeners()[0]->closed(); }));
            gate.open.setValue();
        });
        EXPECT_EQ(runUntilSignal(group), 0);
        opener.join();
        EXPECT_NE(receiveAll(peer).find("at last"), std::string::npos);
    }
}

// Each runs in its own process, because it ends the process.
void signalAndRun(Duration drainTime, Duration shutdownTime, std::function<void(Server&)> meanwhile, bool stuck) {
    std::atomic<bool> release{false};
    Gate gate;
    EventLoopGroup group(groupOptions(1));
    Server http = serveHttp(group, gate);
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([&](Channel& channel) { channel.pipeline().addLast<Stuck>(release); });
    Server echo = bootstrap.bind(anyPort).sync().channel();
    const ShutdownSignals signals;
    BlockingPeer waits(http.localAddress());
    waits.send(waitRequest);
    gate.asked.future().get();
    BlockingPeer sticks(echo.localAddress());
    EXPECT_EQ(echoed(sticks, "1"), "1");
    if (stuck) {
        sticks.send("stick");
        EXPECT_TRUE(eventually([] { return Stuck::stuck.load(); }));
    }
    std::thread companion([&] { meanwhile(http); });
    ::kill(::getpid(), SIGTERM);
    std::_Exit(runUntilSignal(group, drainTime, shutdownTime) == 0 ? 0 : 99);
}

TEST(RunUntilSignalDeathTest, ASecondSignalEndsTheProcessAtOnce) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto again = [](Server& server) {
        EXPECT_TRUE(eventually([&] { return server.listeners()[0]->closed(); }));
        ::kill(::getpid(), SIGTERM);
    };
    EXPECT_EXIT(signalAndRun(1h, 1h, again, false), testing::KilledBySignal(SIGTERM), "");
}

TEST(RunUntilSignalDeathTest, AHandlerThatNeverReturnsIsNamedAndTheProcessEnds) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(signalAndRun(
                    1ms, 1ms, [](Server&) {}, true),
                testing::ExitedWithCode(runFailed), "carrier test0 does not end: a handler");
}

TEST(ShutdownSignalsTest, AreGivenBackAfterwards) {
    struct sigaction before = {};
    struct sigaction during = {};
    struct sigaction after = {};
    ::sigaction(SIGTERM, nullptr, &before);
    {
        ShutdownSignals signals;
        ::sigaction(SIGTERM, nullptr, &during);
        EXPECT_NE(during.sa_handler, before.sa_handler);
        ::kill(::getpid(), SIGTERM);
        EXPECT_EQ(signals.wait(), SIGTERM);
        ::sigaction(SIGTERM, nullptr, &after);  // a second signal has its old effect at once
        EXPECT_EQ(after.sa_handler, before.sa_handler);
    }
    ::sigaction(SIGTERM, nullptr, &after);
    EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST(ShutdownSignalsTest, MayNotBeAwaitedOnACarrier) {
    EventLoopGroup group(groupOptions(1));
    ShutdownSignals signals;
    EXPECT_THROW(group.carriers().carrier(0).spawn([&] { return signals.wait(); }).join(), BlockingOperationException);
}

}  // namespace
}  // namespace weft::test
