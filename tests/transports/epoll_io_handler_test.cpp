// EpollIoHandler step by step, against a scripted kernel: the budget of a poll, its batches of events, and its end.
#include <weft/transports/epoll/epoll_io_handler.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sys/epoll.h>

#include "transports/scripted_bench.hpp"

namespace weft::test {
namespace {

using testing::ElementsAre;

constexpr int fd = 500;
constexpr int otherFd = 501;
constexpr int lastFd = 502;

TEST(EpollIoHandler, TheBudgetEndsAPollAndTheRestComesNextWithoutAskingTheKernel) {
    Log log;
    Log otherLog;
    ScriptedBench bench;
    bench.stream(fd, log);
    bench.stream(otherFd, otherLog);
    bench.calls.nextRecv(fd, {data("one")});
    bench.calls.nextRecv(otherFd, {data("two")});
    const PollResult first = bench.turn({{fd, EPOLLIN}, {otherFd, EPOLLIN}}, 1);
    EXPECT_EQ(first.events, 1u);
    EXPECT_TRUE(first.more);
    EXPECT_EQ(otherLog.size(), 1u);
    const int waits = bench.calls.count("epoll_wait");
    const PollResult second = bench.turn({}, 1);
    EXPECT_EQ(bench.calls.count("epoll_wait"), waits);
    EXPECT_FALSE(second.more);
    EXPECT_EQ(otherLog.back(), "complete");
}

TEST(EpollIoHandler, AFullEventArrayGrowsAndNothingIsLost) {
    std::vector<Log> logs(300);
    ScriptedBench bench;
    std::vector<std::pair<int, std::uint32_t>> events;
    for (int i = 0; i < 300; ++i) {
        bench.stream(2000 + i, logs[static_cast<std::size_t>(i)]);
        bench.calls.nextRecv(2000 + i, {data("x")});
        events.emplace_back(2000 + i, EPOLLIN);
    }
    bench.calls.nextEvents({events.begin(), events.begin() + 256});
    bench.calls.nextEvents(events);  // more than 256: fits only because the array has grown
    bench.turn({}, 1000);
    const PollResult second = bench.turn({}, 1000);
    EXPECT_EQ(second.events, 300u);
    for (const Log& log : logs) EXPECT_EQ(log[1], "read x");
}

TEST(EpollIoHandler, AHandleThatIsQueuedAndReportedIsDispatchedOnce) {
    Log log;
    ScriptedBench bench;
    bench.stream(fd, log);
    for (int i = 0; i < 17; ++i) bench.calls.nextRecv(fd, {fullBuffer()});
    bench.calls.nextRecv(fd, {data("end")});
    bench.turn({{fd, EPOLLIN}});
    log.clear();
    EXPECT_EQ(bench.turn({{fd, EPOLLIN}}).events, 1u);
    EXPECT_EQ(std::count(log.begin(), log.end(), "complete"), 1) << "one readComplete per batch";
}

TEST(EpollIoHandler, EventsLeftByTheBudgetReachOnlyHandlesThatStillExist) {
    Log log;
    Log closedLog;
    Log lastLog;
    ScriptedBench bench;
    bench.stream(fd, log);
    ChannelRef closed = bench.stream(otherFd, closedLog);
    bench.stream(lastFd, lastLog);
    for (const int one : {fd, otherFd, lastFd}) bench.calls.nextRecv(one, {data("x")});
    EXPECT_TRUE(bench.turn({{fd, EPOLLIN}, {otherFd, EPOLLIN}, {lastFd, EPOLLIN}}, 1).more);
    closed->close();
    bench.loop.runTasks();
    const int waits = bench.calls.count("epoll_wait");
    const PollResult second = bench.turn({}, 1);
    EXPECT_EQ(bench.calls.count("epoll_wait"), waits);
    EXPECT_EQ(second.events, 1u);
    EXPECT_FALSE(second.more);
    EXPECT_EQ(bench.calls.recvs(otherFd), 0);
    EXPECT_EQ(lastLog.back(), "complete");
}

TEST(EpollIoHandler, AHandleThatIsLeftByTheBudgetAndThenQueuedIsDispatchedOnce) {
    Log log;
    Log otherLog;
    ScriptedBench bench;
    bench.stream(fd, log);
    ChannelRef other = bench.stream(otherFd, otherLog, false);
    bench.turn({{otherFd, EPOLLIN}});  // the edge is kept, because reading is off
    bench.calls.nextRecv(fd, {data("x")});
    bench.calls.nextRecv(otherFd, {data("y")});
    EXPECT_TRUE(bench.turn({{fd, EPOLLIN}, {otherFd, EPOLLIN}}, 1).more);
    other->setOption(ChannelOption::AUTO_READ, true);
    bench.loop.runTasks();
    const PollResult second = bench.turn({}, 1);
    EXPECT_EQ(second.events, 1u);
    EXPECT_FALSE(second.more);
    EXPECT_THAT(otherLog, ElementsAre("active", "read y", "complete"));
}

TEST(EpollIoHandler, AHangUpFromBeforeTheConnectOfTheSameBatchIsForgotten) {
    Log log;
    Log otherLog;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    ChannelRef connecting = bench.connector(otherFd, otherLog);
    ChannelFuture connected;
    ScriptedBench::recorderOf(channel).onRead = [&] { connected = connecting->connect(SocketAddress::loopbackV4(9)); };
    bench.calls.nextRecv(fd, {data("go")});
    bench.turn({{fd, EPOLLIN}, {otherFd, EPOLLOUT | EPOLLHUP}});
    EXPECT_EQ(bench.calls.count("connect"), 1);
    EXPECT_FALSE(connected.done()) << "taken for the answer to the connect";
    bench.turn({{otherFd, EPOLLOUT}});
    EXPECT_TRUE(connected.success());
}

TEST(EpollIoHandler, WithoutAGuardItNeverBlocks) {
    ScriptedBench bench;
    bench.poll();
    EXPECT_THAT(bench.calls.waits(), ElementsAre(0));
}

TEST(EpollIoHandler, RegistrationIsRefusedOnceItCloses) {
    Log log;
    ScriptedBench bench;
    bench.poller.prepareToClose();
    ChannelRef channel = bench.stream(fd, log);
    EXPECT_TRUE(channel->closed());
    EXPECT_TRUE(bench.calls.closed(fd));
}

TEST(EpollIoHandler, PrepareToCloseClosesItsChannels) {
    Log log;
    ScriptedBench bench;
    bench.stream(fd, log);
    EXPECT_FALSE(bench.poller.closable());
    bench.poller.prepareToClose();
    bench.loop.runTasks();
    EXPECT_TRUE(bench.poller.closable());
    EXPECT_EQ(log.back(), "inactive");
}

}  // namespace
}  // namespace weft::test
