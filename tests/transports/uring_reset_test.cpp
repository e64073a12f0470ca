// A reset that arrives after unread bytes.
#include <cerrno>
#include <string>

#include <gtest/gtest.h>
#include <liburing.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/loopback_server.hpp"
#include "transports/scripted_uring_calls.hpp"
#include "transports/uring_host.hpp"

namespace weft::test {
namespace {

// Reads nothing until it is told to, and then everything, calling read() for each cycle.
class LateReader final : public ChannelInboundHandler {
  public:
    LateReader(Promise<ChannelRef>& opened, Promise<int>& told) : opened_(opened), told_(told) {}
    void channelActive(ChannelHandlerContext& ctx) override { opened_.setValue(ChannelRef(ctx.channel())); }
    void channelRead(ChannelHandlerContext&, Message&&) override {}
    void channelReadComplete(ChannelHandlerContext& ctx) override { ctx.read(); }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        told_.setValue(errorCodeOf(cause).value());
    }

  private:
    Promise<ChannelRef>& opened_;
    Promise<int>& told_;
};

// Stops reading at the first bytes, until AUTO_READ is on again.
class PausingReader final : public ChannelInboundHandler {
  public:
    PausingReader(Promise<ChannelRef>& paused, Promise<int>& told) : paused_(paused), told_(told) {}
    void channelRead(ChannelHandlerContext& ctx, Message&&) override {
        if (std::exchange(seen_, true)) return;
        ctx.channel().setOption(ChannelOption::AUTO_READ, false);
        paused_.setValue(ChannelRef(ctx.channel()));
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        told_.setValue(errorCodeOf(cause).value());
    }

  private:
    Promise<ChannelRef>& paused_;
    Promise<int>& told_;
    bool seen_ = false;
};

TEST_F(UringTransport, AResetWhileReadingIsOffIsReported) {
    const DescriptorGuard guard;
    UringHost host;
    for (const std::size_t size : {1'000, 70'000, 300'000}) {
        Promise<ChannelRef> paused;
        Promise<int> told;
        Future<ChannelRef> pause = paused.future();
        Future<int> error = told.future();
        Server server(host, [&](Channel& channel) { channel.pipeline().addLast<PausingReader>(paused, told); });
        BlockingPeer peer(server.address);
        peer.send("x");
        const ChannelRef channel = pause.get();
        peer.send(pattern(size));
        peer.reset();
        host.inLoop([] {});  // one turn: the loop sees the reset and reads nothing
        host.inLoop([&] { channel->setOption(ChannelOption::AUTO_READ, true); });
        ASSERT_TRUE(error.awaitUntil(testDeadline())) << "of " << size << " bytes";
        EXPECT_EQ(error.get(), ECONNRESET);
    }
}

class Reader final : public ChannelInboundHandler {
  public:
    Reader(Promise<void>& begun, Promise<int>& told) : begun_(begun), told_(told) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        message.reset();
        if (!std::exchange(seen_, true)) begun_.setValue();
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        told_.setValue(errorCodeOf(cause).value());
    }

  private:
    Promise<void>& begun_;
    Promise<int>& told_;
    bool seen_ = false;
};

// While the receive waits, bytes and the reset arrive before the ring handles the wake-up of the bytes.
TEST_F(UringTransport, AResetThatArrivesTogetherWithBytesIsReported) {
    const DescriptorGuard guard;
    UringHost host;
    for (const std::size_t size : {1, 1'000, 2'000, 30'000}) {
        Promise<void> begun;
        Promise<int> told;
        const Future<void> receives = begun.future();
        Future<int> error = told.future();
        Server server(host, [&](Channel& channel) { channel.pipeline().addLast<Reader>(begun, told); });
        BlockingPeer peer(server.address);
        peer.send("x");
        ASSERT_TRUE(receives.awaitUntil(testDeadline()));
        host.inLoop([&] {  // the ring polls after this
            peer.send(pattern(size));
            peer.reset();
        });
        ASSERT_TRUE(error.awaitUntil(testDeadline())) << "of " << size << " bytes";
        EXPECT_EQ(error.get(), ECONNRESET);
    }
}

// Some kernels do so when the reset arrives together with bytes (docs/adr/0009).
TEST_F(UringTransport, AResetThatTheReceiveDoesNotReportIsReported) {
    const DescriptorGuard guard;
    ScriptedUringCalls calls;
    calls.ignore(IORING_OP_RECV);
    UringHost host({}, calls);
    Promise<void> made, begun;
    Promise<int> told;
    const Future<void> accepted = made.future();
    Future<int> error = told.future();
    Server server(host, [&](Channel& channel) {
        channel.pipeline().addLast<Reader>(begun, told);
        made.setValue();
    });
    BlockingPeer peer(server.address);
    ASSERT_TRUE(accepted.awaitUntil(testDeadline()));
    peer.send("x");
    peer.reset();
    ASSERT_TRUE(error.awaitUntil(testDeadline()));
    EXPECT_EQ(error.get(), ECONNRESET);
    EXPECT_EQ(calls.left(), 0u);
}

// More pieces than the kernel's multishot receive takes at its start, which then forgets a reset that follows them.
TEST_F(UringTransport, AResetAfterManyUnreadPiecesIsReported) {
    const DescriptorGuard guard;
    UringHost host;
    for (const std::size_t size : {1'000, 60'000, 70'000, 100'000, 200'000}) {
        Promise<ChannelRef> opened;
        Promise<int> told;
        Future<ChannelRef> open = opened.future();
        Future<int> error = told.future();
        Server server(host, [&](Channel& channel) {
            channel.setOption(ChannelOption::AUTO_READ, false);
            channel.pipeline().addLast<LateReader>(opened, told);
        });
        BlockingPeer peer(server.address);
        const ChannelRef channel = open.get();
        peer.send(pattern(size));
        peer.reset();
        host.inLoop([&] { channel->read(); });
        ASSERT_TRUE(error.awaitUntil(testDeadline())) << "of " << size << " bytes";
        EXPECT_EQ(error.get(), ECONNRESET);
    }
}

}  // namespace
}  // namespace weft::test
