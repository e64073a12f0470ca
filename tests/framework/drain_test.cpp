// Draining: Server::drain() and EventLoopGroup::drain(). What has begun is answered, what is late is closed, counted
// and named, and no loop or handler that does not respond holds up the others.
#include <weft/framework/server.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_events.hpp>

#include "framework/drain_bench.hpp"
#include "support/log_capture.hpp"

namespace weft::test {
namespace {

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

// Its share of the time of a drain that closes late connections is as long as without the loop that does not respond.
TEST(DrainTest, AnUnresponsiveLoopTakesNoTimeFromTheFibersOfOthers) {
    const LogCapture log;
    StuckLoop bench;
    EXPECT_EQ(echoed(bench.other, "wait"), "wait");
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(bench.group.drain(1ms), 2u);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 1s) << "it has waited for the loop to the end";
    EXPECT_EQ(bench.other.receive(), "");
    EXPECT_EQ(log.count("still runs after it was cancelled"), 0) << log.text();
    bench.release = true;
    EXPECT_EQ(bench.stuck.receive(), "stick");
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
    explicit WorkingServer(Work work) : work(std::move(work)) {
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

}  // namespace
}  // namespace weft::test
