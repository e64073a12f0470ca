// With ALLOW_HALF_CLOSURE a connection outlives its peer's end; a reset after that end is detected without a write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>

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

}  // namespace
}  // namespace weft::test
