// With ALLOW_HALF_CLOSURE a connection outlives its peer's end; a reset after that end is detected without a write.
#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <algorithm>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/scheduler/event_loop.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/loopback_server.hpp"
#include "transports/scripted_bench.hpp"
#include "transports/socket_loops.hpp"

namespace weft::test {
namespace {

using testing::ElementsAre;

constexpr int fd = 500;
constexpr std::uint32_t peerEnded = EPOLLIN | EPOLLRDHUP;
constexpr std::uint32_t peerReset = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLERR | EPOLLHUP;
const std::string brokenPipe = "error " + std::to_string(EPIPE);  // what Linux reports for a reset after the end

ChannelRef halfClosing(ScriptedBench& bench, Log& log, bool autoRead = true) {
    ChannelRef channel = bench.stream(fd, log, autoRead);
    channel->setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
    return channel;
}

TEST(EpollStream, HC2_AResetAfterThePeersEndIsAnErrorAndThenInactive) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = halfClosing(bench, log);
    bench.calls.nextRecv(fd, {data("request"), endOfInput()});
    bench.turn({{fd, peerEnded}});
    EXPECT_TRUE(channel->open());
    bench.calls.socketError(fd, EPIPE);
    bench.turn({{fd, peerReset}});
    EXPECT_THAT(log, ElementsAre("active", "read request", "complete", brokenPipe, "inactive"));
    EXPECT_TRUE(bench.calls.closed(fd));
    EXPECT_EQ(bench.calls.recvs(fd), 2);
}

TEST(EpollStream, HC2_AResetInTheSameEventAsThePeersEndIsAnErrorAndThenInactive) {
    Log log;
    ScriptedBench bench;
    halfClosing(bench, log);
    bench.calls.nextRecv(fd, {endOfInput()});
    bench.calls.socketError(fd, EPIPE);
    bench.turn({{fd, peerReset}});
    EXPECT_THAT(log, ElementsAre("active", brokenPipe, "inactive"));
}

TEST(EpollStream, HC2_AResetThatCameWhileReadingWasOffIsAnErrorOnceTheEndHasBeenRead) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = halfClosing(bench, log, false);
    bench.calls.nextRecv(fd, {data("request"), endOfInput()});
    bench.calls.socketError(fd, EPIPE);
    bench.turn({{fd, peerReset}});
    EXPECT_THAT(log, ElementsAre("active")) << "R-3: nothing is read without permission";
    channel->read();
    bench.turn();
    EXPECT_THAT(log, ElementsAre("active", "read request", "complete"));
    channel->read();
    bench.turn();
    EXPECT_EQ(log.back(), "inactive");
    EXPECT_EQ(log[log.size() - 2], brokenPipe);
}

TEST(EpollStream, HC2_AResetThatAWriteHasSeenIsReportedOnce) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = halfClosing(bench, log);
    bench.calls.nextRecv(fd, {endOfInput()});
    bench.turn({{fd, peerEnded}});
    bench.calls.nextSend(fd, {-EAGAIN, -EPIPE});
    ChannelPromise promise = channel->newPromise();
    channel->writeAndFlush(Buffer::copyOf("answer"), promise);
    bench.loop.runTasks();
    bench.turn({{fd, peerReset}});
    bench.turn();
    EXPECT_TRUE(promise.done());
    EXPECT_FALSE(promise.future().success());
    EXPECT_EQ(std::count(log.begin(), log.end(), "inactive"), 1);
    EXPECT_LE(std::count(log.begin(), log.end(), brokenPipe), 1);
    EXPECT_TRUE(bench.calls.closed(fd));
}

// Both sides have ended in order: the kernel reports a hang-up, but no error.
TEST(EpollStream, HC2_AHangUpWithoutAnErrorLeavesTheChannelOpen) {
    Log log;
    ScriptedBench bench;
    ChannelRef channel = halfClosing(bench, log);
    bench.calls.nextRecv(fd, {endOfInput()});
    bench.turn({{fd, peerEnded}});
    channel->shutdownOutput();
    bench.turn({{fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP}});
    EXPECT_TRUE(channel->open());
    EXPECT_THAT(log, ElementsAre("active"));
    channel->close();
    bench.loop.runTasks();
    EXPECT_EQ(log.back(), "inactive");
}

// Reports its peer's end, and how the connection ended after that.
class EndWatcher final : public ChannelInboundHandler {
  public:
    struct Seen {
        Promise<void> ended;
        Promise<int> failed;
    };
    explicit EndWatcher(Seen& seen) : seen_(seen) {}
    void userEventTriggered(ChannelHandlerContext&, Message&& event) override {
        if (event.is<InputShutdownEvent>()) seen_.ended.setValue();
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        seen_.failed.setValue(errorCodeOf(cause).value());
    }

  private:
    Seen& seen_;
};

TEST(TcpChannel, HC2_AResetAfterThePeersEndClosesTheConnectionWithoutAWrite) {
    const DescriptorGuard guard;
    SocketLoops host;
    EndWatcher::Seen seen;
    const Future<void> ended = seen.ended.future();
    const Future<int> failed = seen.failed.future();
    Server server(host, [&](Channel& channel) {
        channel.setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
        channel.pipeline().addLast<EndWatcher>(seen);
    });
    BlockingPeer peer(server.address);
    peer.endOutput();
    ASSERT_TRUE(ended.awaitUntil(testDeadline()));
    peer.reset();
    ASSERT_TRUE(failed.awaitUntil(testDeadline())) << "the connection would be held until somebody writes";
    EXPECT_EQ(failed.get(), EPIPE);
}

// Writes more than two socket buffers hold, and ends its output in the task after the one that deregisters the channel.
class DeregistersAndEndsOutput final : public ChannelInboundHandler {
  public:
    struct Outcome {
        Promise<ErrorCode> deregistered, shutDown, written;
    };
    DeregistersAndEndsOutput(const std::string& bytes, Outcome& outcome) : bytes_(bytes), outcome_(outcome) {}
    void channelActive(ChannelHandlerContext& ctx) override {
        ChannelPromise written = ctx.newPromise();
        written.addListener([this](const ChannelFuture& done) { outcome_.written.setValue(done.error()); });
        ctx.writeAndFlush(Buffer::wrapStatic(bytes_), written);
        ctx.channel().deregister().addListener(
            [this](const ChannelFuture& done) { outcome_.deregistered.setValue(done.error()); });
        ctx.loop().execute([this, channel = ChannelRef(ctx.channel())] {
            channel->shutdownOutput().addListener(
                [this](const ChannelFuture& done) { outcome_.shutDown.setValue(done.error()); });
        });
    }

  private:
    const std::string& bytes_;
    Outcome& outcome_;
};

TEST(TcpChannel, HC3_TheOutputEndsWhileADeregistrationIsUnderWay) {
    const DescriptorGuard guard;
    const std::string bytes = pattern(64 << 20);
    DeregistersAndEndsOutput::Outcome outcome;
    Future<ErrorCode> deregistered = outcome.deregistered.future(), shutDown = outcome.shutDown.future(),
                      written = outcome.written.future();
    Promise<ChannelRef> made;
    Future<ChannelRef> accepted = made.future();
    SocketLoops host;
    Server server(host, [&](Channel& channel) {
        channel.pipeline().addLast<DeregistersAndEndsOutput>(bytes, outcome);
        made.setValue(ChannelRef(channel));
    });
    BlockingPeer peer(server.address);
    ASSERT_TRUE(deregistered.awaitUntil(testDeadline()));
    ASSERT_TRUE(shutDown.awaitUntil(testDeadline()));
    ASSERT_TRUE(written.awaitUntil(testDeadline()));
    EXPECT_FALSE(deregistered.get());
    EXPECT_FALSE(shutDown.get());
    EXPECT_TRUE(written.get()) << "the peer has read nothing";
    std::string received;
    EXPECT_EQ(peer.receiveToEnd(received), 0);
    EXPECT_TRUE(bytes.starts_with(received));
    const ChannelRef channel = accepted.get();
    EXPECT_EQ(channel->pendingBytes(), 0u);
    channel->close().sync();
}

}  // namespace
}  // namespace weft::test
