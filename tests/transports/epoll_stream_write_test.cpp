// The writes of the epoll stream sink step by step, against a scripted kernel (rules W-5, W-7, E-8, HC-5): a full
// socket, bytes that bypass the queue, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include <sys/epoll.h>

#include "transports/scripted_bench.hpp"

namespace weft::test {
namespace {

using testing::ElementsAre;

constexpr int fd = 500;

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
    LateWriter(ScriptedBench& bench, Channel& channel) : channel(channel) {
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

}  // namespace
}  // namespace weft::test
