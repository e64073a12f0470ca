// The epoll stream sink step by step, against a scripted kernel: its reads (rules R-*, E-6, HC-5), its registration and
// its end. Its writes: epoll_stream_write_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include <sys/epoll.h>

#include "transports/scripted_bench.hpp"

namespace weft::test {
namespace {

using testing::ElementsAre;

constexpr int fd = 500;
constexpr int otherFd = 501;

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

}  // namespace
}  // namespace weft::test
