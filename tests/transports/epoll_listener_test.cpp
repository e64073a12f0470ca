// The epoll listener and connector sinks step by step, against a scripted kernel (rules E-7, S-4).
#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <algorithm>

#include "transports/scripted_bench.hpp"

namespace weft::test {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

constexpr int fd = 500;

TEST(EpollListener, AcceptsUntilTheKernelHasNoMore) {
    Log log;
    ScriptedBench bench;
    ChannelRef listener = bench.listener(fd, log);
    bench.calls.nextAccept({600, 601});
    bench.turn({{fd, EPOLLIN}});
    EXPECT_THAT(log, ElementsAre("active", "child", "child", "complete"));
    EXPECT_EQ(bench.calls.count("accept4"), 3);
    const auto& children = ScriptedBench::recorderOf(listener).children;
    ASSERT_EQ(children.size(), 2u);
    EXPECT_TRUE(children[0]->active());
    EXPECT_EQ(&children[0]->loop(), &bench.loop);
}

TEST(EpollListener, AnUnregisteredChildClosesItsDescriptor) {
    Log log;
    ScriptedBench bench;
    ChannelRef listener = bench.listener(fd, log);
    bench.calls.nextAccept({600});
    bench.turn({{fd, EPOLLIN}});
    ScriptedBench::recorderOf(listener).children.clear();
    EXPECT_TRUE(bench.calls.closed(600));
}

TEST(EpollListener, SixteenConnectionsEndACycleAndTheNextPollGoesOn) {
    Log log;
    ScriptedBench bench;
    bench.listener(fd, log);
    for (int i = 0; i < 18; ++i) bench.calls.nextAccept({600 + i});
    EXPECT_TRUE(bench.turn({{fd, EPOLLIN}}).more);
    EXPECT_EQ(std::count(log.begin(), log.end(), "child"), 16);
    bench.turn();
    EXPECT_EQ(std::count(log.begin(), log.end(), "child"), 18);
    EXPECT_EQ(std::count(log.begin(), log.end(), "complete"), 2);
}

TEST(EpollListener, E7_ConnectionsThatWereLostAreSkipped) {
    Log log;
    ScriptedBench bench;
    bench.listener(fd, log);
    bench.calls.nextAccept({-ECONNABORTED, -EPROTO, 600, -EPERM, 601});
    bench.turn({{fd, EPOLLIN}});
    EXPECT_THAT(log, ElementsAre("active", "child", "child", "complete"));
}

TEST(EpollListener, E7_OutOfDescriptorsIsOneErrorAndAPauseOfHalfASecond) {
    Log log;
    ScriptedBench bench;
    ChannelRef listener = bench.listener(fd, log);
    bench.calls.nextAccept({600, -EMFILE});
    bench.turn({{fd, EPOLLIN}});
    EXPECT_THAT(log, ElementsAre("active", "child", "complete", "error " + std::to_string(EMFILE)));
    EXPECT_FALSE(listener->closed());

    const int accepts = bench.calls.count("accept4");
    bench.clock.advance(400ms);
    bench.turn({{fd, EPOLLIN}});  // further connections arrive meanwhile
    EXPECT_EQ(bench.calls.count("accept4"), accepts) << "accepting during the pause";

    bench.calls.nextAccept({601});
    bench.clock.advance(101ms);
    bench.turn();
    bench.turn();  // the timer requested a dispatch; no edge was needed
    EXPECT_EQ(log.back(), "complete");
    EXPECT_EQ(std::count(log.begin(), log.end(), "child"), 2);
}

TEST(EpollListener, E7_AListenerThatClosesDuringThePauseStaysClosed) {
    Log log;
    ScriptedBench bench;
    ChannelRef listener = bench.listener(fd, log);
    bench.calls.nextAccept({-ENFILE});
    bench.turn({{fd, EPOLLIN}});
    listener->close();
    bench.loop.runTasks();
    const int accepts = bench.calls.count("accept4");
    bench.clock.advance(1s);
    bench.turn();
    bench.turn();
    EXPECT_EQ(bench.calls.count("accept4"), accepts);
}

TEST(EpollListener, WithAutoReadOffNothingIsAcceptedAndTheEdgeIsRemembered) {
    Log log;
    ScriptedBench bench;
    ChannelRef listener = bench.listener(fd, log, false);
    bench.calls.nextAccept({600});
    bench.turn({{fd, EPOLLIN}});
    EXPECT_EQ(bench.calls.count("accept4"), 0);
    listener->read();
    bench.turn();
    EXPECT_THAT(log, ElementsAre("active", "child", "complete"));
}

TEST(EpollListener, AHangUpBeforeItListensIsNoConnection) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = Channel::create(bench.loop);
    channel->attach(bench.poller.listener(Fd(fd, bench.calls), *channel));
    channel->registerWithLoop();
    bench.loop.runTasks();
    channel->read();
    bench.turn({{fd, EPOLLOUT | EPOLLHUP}});  // what Linux reports for a socket that does not listen yet
    EXPECT_EQ(bench.calls.count("accept4"), 0);
    EXPECT_FALSE(channel->closed());
}

TEST(EpollConnector, ConnectsAtTheOutputEdgeAndIsAStreamFromThenOn) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.connector(fd, log);
    bench.turn({{fd, EPOLLOUT | EPOLLHUP}});  // not connected: no meaning
    ChannelFuture connected = channel->connect(SocketAddress::loopbackV4(9));
    bench.loop.runTasks();
    EXPECT_FALSE(connected.done());
    bench.turn({{fd, EPOLLOUT}});
    EXPECT_TRUE(connected.success());
    bench.calls.nextRecv(fd, {data("hello")});
    bench.turn({{fd, EPOLLIN}});
    EXPECT_THAT(log, ElementsAre("active", "read hello", "complete"));
}

TEST(EpollConnector, S4_ARefusedConnectNamesTheAddress) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.connector(fd, log);
    ChannelFuture connected = channel->connect(SocketAddress::loopbackV4(9));
    bench.loop.runTasks();
    bench.calls.socketError(fd, ECONNREFUSED);
    bench.turn({{fd, EPOLLOUT | EPOLLERR | EPOLLHUP}});
    ASSERT_TRUE(connected.done());
    EXPECT_EQ(connected.error(), fromErrno(ECONNREFUSED));
    EXPECT_NE(describe(connected.cause()).find("127.0.0.1:9"), std::string::npos) << describe(connected.cause());
}

TEST(EpollConnector, AConnectThatSucceedsAtOnceNeedsNoEdge) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.connector(fd, log);
    bench.calls.nextConnect(0);
    ChannelFuture connected = channel->connect(SocketAddress::loopbackV4(9));
    bench.loop.runTasks();
    EXPECT_TRUE(connected.success());
    EXPECT_THAT(log, ElementsAre("active"));
}

TEST(EpollConnector, CloseWhileConnectingFailsTheConnect) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.connector(fd, log);
    ChannelFuture connected = channel->connect(SocketAddress::loopbackV4(9));
    bench.loop.runTasks();
    channel->close();
    bench.loop.runTasks();
    ASSERT_TRUE(connected.done());
    EXPECT_FALSE(connected.success());
    EXPECT_TRUE(bench.calls.closed(fd));
    EXPECT_TRUE(log.empty()) << "never active, so never inactive (S-5)";
}

}  // namespace
}  // namespace weft::test
