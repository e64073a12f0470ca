// The epoll stream sink step by step, against a scripted kernel (rules R-*, E-6, E-8, W-5, HC-5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transports/scripted_bench.hpp"

namespace weft::test {
namespace {

using testing::ElementsAre;

constexpr int fd = 500;
constexpr int otherFd = 501;
constexpr int lastFd = 502;

TEST(EpollStream, R4_AShortReadEndsTheCycleWithoutASecondRead) {
    Log log;
    ScriptedBench bench;
    bench.stream(fd, log);
    bench.calls.nextRecv(fd, {data("abc"), data("never asked for")});
    bench.turn({{fd, EPOLLIN}});
    EXPECT_THAT(log, ElementsAre("active", "read abc", "complete"));
    EXPECT_EQ(bench.calls.recvs(fd), 1);
}

TEST(EpollStream, R4_AFullBufferIsFollowedByAnotherRead) {
    Log log;
    ScriptedBench bench;
    bench.stream(fd, log);
    bench.calls.nextRecv(fd, {fullBuffer(), data("rest")});
    bench.turn({{fd, EPOLLIN}});
    EXPECT_EQ(log.size(), 4u);
    EXPECT_EQ(log[2], "read rest");
    EXPECT_EQ(log[3], "complete");
}

// recv() stops before the urgent byte, and the kernel reports no edge for the bytes after it.
TEST(EpollStream, R4_AShortReadBeforeAnUrgentByteIsFollowedByAnother) {
    Log log;
    ScriptedBench bench;
    bench.stream(fd, log);
    bench.calls.nextRecv(fd, {data("before"), data("behind")});
    bench.turn({{fd, EPOLLIN | EPOLLPRI}});
    EXPECT_THAT(log, ElementsAre("active", "read before", "read behind", "complete"));
}

TEST(EpollStream, AnEdgeWithNothingToReadFiresNoEventAndTheNextOneReads) {
    Log log;
    ScriptedBench bench;
    bench.stream(fd, log);
    bench.turn({{fd, EPOLLIN | EPOLLOUT}});
    EXPECT_THAT(log, ElementsAre("active"));
    bench.calls.nextRecv(fd, {data("now")});
    bench.turn({{fd, EPOLLIN | EPOLLOUT}});
    EXPECT_THAT(log, ElementsAre("active", "read now", "complete"));
}

TEST(EpollStream, E6_AResetAfterSomeBytesIsReadCompleteThenErrorThenInactive) {
    Log log;
    ScriptedBench bench;
    bench.stream(fd, log);
    bench.calls.nextRecv(fd, {data("half"), failsWith(ECONNRESET)});
    bench.turn({{fd, EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP}});
    EXPECT_THAT(log, ElementsAre("active", "read half", "complete", "error " + std::to_string(ECONNRESET), "inactive"));
    EXPECT_TRUE(bench.calls.closed(fd));
}

TEST(EpollStream, HC5_BytesBeforeThePeersEndAreReadInTheSameCycle) {
    Log log;
    ScriptedBench bench;
    bench.stream(fd, log);
    bench.calls.nextRecv(fd, {data("last words"), endOfInput()});
    bench.turn({{fd, EPOLLIN | EPOLLRDHUP}});
    EXPECT_THAT(log, ElementsAre("active", "read last words", "complete", "inactive"));
    EXPECT_TRUE(bench.calls.closed(fd));
}

TEST(EpollStream, R1_SixteenReadsEndACycleAndTheNextPollGoesOnWithoutAnEdge) {
    Log log;
    ScriptedBench bench;
    bench.stream(fd, log);
    for (int i = 0; i < 20; ++i) bench.calls.nextRecv(fd, {fullBuffer()});
    EXPECT_TRUE(bench.turn({{fd, EPOLLIN}}).more);
    EXPECT_EQ(bench.calls.recvs(fd), 16);
    EXPECT_EQ(log.back(), "complete");
    EXPECT_FALSE(bench.turn().more);
    EXPECT_EQ(bench.calls.recvs(fd), 21);  // the last one found nothing
}

TEST(EpollStream, R1_MaxMessagesPerReadEndACycle) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    channel->setOption(ChannelOption::MAX_MESSAGES_PER_READ, 3u);
    for (int i = 0; i < 5; ++i) bench.calls.nextRecv(fd, {fullBuffer()});
    EXPECT_TRUE(bench.turn({{fd, EPOLLIN}}).more);
    EXPECT_EQ(bench.calls.recvs(fd), 3);
    EXPECT_EQ(log.back(), "complete");
}

TEST(EpollStream, R3_AutoReadOffInsideAReadStopsTheCycleAndOnAgainContinuesWithoutAnEdge) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    ScriptedBench::recorderOf(channel).onRead = [&] { channel->setOption(ChannelOption::AUTO_READ, false); };
    bench.calls.nextRecv(fd, {fullBuffer(), data("kept")});
    bench.turn({{fd, EPOLLIN}});
    EXPECT_EQ(bench.calls.recvs(fd), 1);
    bench.turn({{fd, EPOLLIN}});
    EXPECT_EQ(bench.calls.recvs(fd), 1) << "read without permission";

    ScriptedBench::recorderOf(channel).onRead = nullptr;
    channel->setOption(ChannelOption::AUTO_READ, true);
    bench.loop.runTasks();
    EXPECT_EQ(bench.calls.recvs(fd), 1) << "read from inside wantRead()";
    bench.turn();
    EXPECT_EQ(log[log.size() - 2], "read kept");
}

TEST(EpollStream, R3_AnEdgeBeforeTheFirstReadIsRemembered) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log, false);
    bench.calls.nextRecv(fd, {data("early"), endOfInput()});
    bench.turn({{fd, EPOLLIN | EPOLLRDHUP}});
    EXPECT_THAT(log, ElementsAre("active"));
    channel->read();
    bench.turn();
    EXPECT_THAT(log, ElementsAre("active", "read early", "complete"));
    channel->read();
    bench.turn();
    EXPECT_EQ(log.back(), "inactive");
}

TEST(EpollStream, APartialWriteIsContinuedAtTheOutputEdge) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    bench.calls.nextSend(fd, {3, -EAGAIN});
    ChannelPromise promise = channel->newPromise();
    channel->writeAndFlush(Buffer::copyOf("0123456789"), promise);
    bench.loop.runTasks();
    EXPECT_EQ(bench.calls.sent(fd), "012");
    EXPECT_FALSE(promise.done());

    bench.turn({{fd, EPOLLOUT}});
    EXPECT_EQ(bench.calls.sent(fd), "0123456789");
    EXPECT_TRUE(promise.future().success());
}

TEST(EpollStream, W5_AFullSocketIsNotTriedAgainBeforeTheOutputEdge) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    bench.calls.nextSend(fd, {-EAGAIN});
    channel->writeAndFlush(Buffer::copyOf("first "));
    bench.loop.runTasks();
    channel->writeAndFlush(Buffer::copyOf("second"));
    bench.loop.runTasks();
    bench.turn({{fd, EPOLLIN}});
    EXPECT_EQ(bench.calls.sends(fd), 1);
    bench.turn({{fd, EPOLLIN | EPOLLOUT}});
    EXPECT_EQ(bench.calls.sent(fd), "first second");
}

// Writes at the flush point while nothing is queued: bypasses the outbound buffer.
struct LateWriter final : FlushPointListener {
    LateWriter(ScriptedBench& bench, Channel& itsChannel) : channel(itsChannel) {
        bench.loop.requestFlushPoint(*this);
        bench.loop.runTasks();
    }
    void onFlushPoint() noexcept override { channel.writeAndFlush(Buffer::copyOf("0123456789")); }
    Channel& channel;
};

TEST(EpollStream, W7_BytesThatBypassTheQueueAreOneSend) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    const LateWriter writer(bench, *channel);
    EXPECT_EQ(bench.calls.sent(fd), "0123456789");
    EXPECT_EQ(bench.calls.sends(fd), 1);
    EXPECT_EQ(channel->pendingBytes(), 0u);
}

TEST(EpollStream, W7_AFullSocketKeepsTheRestOfADirectWriteForTheOutputEdge) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    bench.calls.nextSend(fd, {3, -EAGAIN});
    const LateWriter writer(bench, *channel);
    EXPECT_EQ(bench.calls.sent(fd), "012");
    EXPECT_EQ(bench.calls.sends(fd), 2);
    const LateWriter second(bench, *channel);
    EXPECT_EQ(bench.calls.sends(fd), 2) << "not tried before the edge";
    bench.turn({{fd, EPOLLOUT}});
    EXPECT_EQ(bench.calls.sent(fd), "01234567890123456789");
}

TEST(EpollStream, W7_ASocketThatIsAlreadyFullIsTriedOnce) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    bench.calls.nextSend(fd, {-EAGAIN});
    const LateWriter writer(bench, *channel);
    EXPECT_EQ(bench.calls.sends(fd), 1);
    bench.turn({{fd, EPOLLOUT}});
    EXPECT_EQ(bench.calls.sent(fd), "0123456789");
}

TEST(EpollStream, E8_AnErrorOfADirectWriteClosesButNotFromInsideTheFlushPoint) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    bench.calls.nextSend(fd, {-EPIPE});
    const LateWriter writer(bench, *channel);
    EXPECT_FALSE(bench.calls.closed(fd));
    EXPECT_EQ(bench.calls.sends(fd), 1);
    bench.turn();
    EXPECT_TRUE(bench.calls.closed(fd));
    EXPECT_EQ(log.back(), "inactive");
}

TEST(EpollStream, W5_SixteenWritesEndAFlushAndTheNextPollGoesOn) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    for (int i = 0; i < 20; ++i) bench.calls.nextSend(fd, {1});
    channel->writeAndFlush(Buffer::copyOf(std::string(40, 'x')));
    bench.loop.runTasks();
    EXPECT_EQ(bench.calls.sends(fd), 16);
    bench.turn();
    EXPECT_EQ(bench.calls.sent(fd), std::string(40, 'x'));
    EXPECT_EQ(bench.calls.sends(fd), 21);
}

TEST(EpollStream, E8_AWriteErrorFailsTheWriteAndClosesButNotFromInsideTheFlush) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    bench.calls.nextSend(fd, {-EPIPE});
    ChannelPromise promise = channel->newPromise();
    channel->writeAndFlush(Buffer::copyOf("lost"), promise);
    bench.loop.runTasks();
    EXPECT_FALSE(bench.calls.closed(fd));
    bench.turn();
    EXPECT_TRUE(bench.calls.closed(fd));
    EXPECT_TRUE(promise.done());
    EXPECT_FALSE(promise.future().success());
    EXPECT_EQ(log.back(), "inactive");
}

TEST(EpollStream, AWriteErrorDoesNotHideBytesThatThePeerSentBefore) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    bench.calls.nextSend(fd, {-ECONNRESET});
    channel->writeAndFlush(Buffer::copyOf("lost"));
    bench.loop.runTasks();
    bench.calls.nextRecv(fd, {data("go away"), endOfInput()});  // the failed write consumed the socket's error
    bench.turn({{fd, EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP}});
    EXPECT_THAT(log,
                ElementsAre("active", "read go away", "complete", "error " + std::to_string(ECONNRESET), "inactive"));
}

TEST(EpollStream, HC5_OutputIsServedBeforeInput) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    bench.calls.nextSend(fd, {-EAGAIN});
    channel->writeAndFlush(Buffer::copyOf("waiting"));
    bench.loop.runTasks();
    std::string sentBeforeRead;
    ScriptedBench::recorderOf(channel).onRead = [&] { sentBeforeRead = bench.calls.sent(fd); };
    bench.calls.nextRecv(fd, {data("in")});
    bench.turn({{fd, EPOLLIN | EPOLLOUT}});
    EXPECT_EQ(sentBeforeRead, "waiting");
}

TEST(EpollStream, AChannelClosedByAnotherOneOfTheSameBatchGetsNothing) {
    Log log;
    Log otherLog;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    ChannelRef other = bench.stream(otherFd, otherLog);
    ScriptedBench::recorderOf(channel).onRead = [&] { other->close(); };
    bench.calls.nextRecv(fd, {data("x")});
    bench.calls.nextRecv(otherFd, {data("must not be read")});
    bench.turn({{fd, EPOLLIN}, {otherFd, EPOLLIN}});
    EXPECT_EQ(bench.calls.recvs(otherFd), 0);
    EXPECT_THAT(otherLog, ElementsAre("active", "inactive"));
}

TEST(EpollStream, AChannelThatClosesItselfWhileReadingReadsNoMore) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    ScriptedBench::recorderOf(channel).onRead = [&] { channel->close(); };
    bench.calls.nextRecv(fd, {fullBuffer(), data("must not be read")});
    bench.turn({{fd, EPOLLIN | EPOLLRDHUP}});
    EXPECT_EQ(bench.calls.recvs(fd), 1);
    EXPECT_EQ(log.back(), "inactive");
}

TEST(EpollStream, AStaleEventOfAClosedDescriptorIsDropped) {
    Log log;
    Log nextLog;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    channel->close();
    bench.loop.runTasks();
    bench.stream(otherFd, nextLog);  // reuses the slot of the closed one
    log.clear();
    EXPECT_EQ(bench.turn({{fd, EPOLLIN | EPOLLHUP}}).events, 0u);
    EXPECT_EQ(bench.calls.recvs(otherFd), 0);
    EXPECT_TRUE(log.empty());
}

TEST(EpollStream, OneRegistrationServesItsWholeLife) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    bench.calls.nextSend(fd, {2, -EAGAIN});
    bench.calls.nextRecv(fd, {data("a")});
    channel->writeAndFlush(Buffer::copyOf("four"));
    bench.turn({{fd, EPOLLIN}});
    bench.turn({{fd, EPOLLOUT}});
    channel->close();
    bench.loop.runTasks();
    EXPECT_EQ(bench.calls.count("epoll_ctl"), 1);
    EXPECT_EQ(bench.calls.interestOf(fd), std::uint32_t{EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET});
}

TEST(EpollStream, DeregisterLeavesThePollerAndKeepsTheDescriptorOpen) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = bench.stream(fd, log);
    channel->deregister();
    bench.loop.runTasks();
    EXPECT_EQ(bench.poller.registeredHandles(), 0u);
    EXPECT_FALSE(bench.calls.closed(fd));
    bench.turn({{fd, EPOLLIN}});
    EXPECT_EQ(bench.calls.recvs(fd), 0);
    channel->close();
    bench.loop.runTasks();
    EXPECT_TRUE(bench.calls.closed(fd));
}

TEST(EpollStream, S1_ARefusedRegistrationClosesTheDescriptor) {
    Log log;
    ScriptedBench bench;
    bench.calls.nextEpollCtl(-ENOSPC);
    ChannelRef channel = bench.stream(fd, log);
    EXPECT_TRUE(channel->closed());
    EXPECT_TRUE(bench.calls.closed(fd));
    EXPECT_EQ(bench.poller.registeredHandles(), 0u);
}

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
