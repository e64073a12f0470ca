// Specific to io_uring: sends in flight. Direct writes go out before the queue, and every write completes or fails
// once, whatever the peer, a close or the end of the output does meanwhile.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/scheduler/event_loop.hpp>

#include "support/pattern.hpp"
#include "transports/blocking_peer.hpp"
#include "transports/loopback_server.hpp"
#include "transports/raw_pair.hpp"
#include "transports/uring_host.hpp"

namespace weft::test {
namespace {

TEST_F(UringTransport, FourMebibytesReachASlowReader) {
    const DescriptorGuard guard;
    Promise<ErrorCode> outcome;
    Future<ErrorCode> written = outcome.future();
    const std::string sent = pattern(4 << 20);
    UringHost host;
    Server server(host, [&](Channel& channel) {
        channel.pipeline().addLast<Sender>(sent, [&](ErrorCode error) { outcome.setValue(error); });
    });
    BlockingPeer peer(server.address);
    std::string received;
    for (std::string more; !(more = peer.receive(1500)).empty();) received += more;
    EXPECT_TRUE(received == sent) << received.size() << " bytes";
    EXPECT_FALSE(written.get());
}

// Encodes its bytes into the channel's output, and writes some more while they are being sent.
class EncodedSender final : public ChannelInboundHandler {
  public:
    EncodedSender(const std::string& encoded, const std::string& behind) : encoded_(encoded), behind_(behind) {}
    void channelActive(ChannelHandlerContext& ctx) override {
        ctx.channel().setOption(ChannelOption::WRITE_BUFFER_WATER_MARK, WriteBufferWaterMark(64 << 20, 128 << 20));
        ctx.output().append(std::string_view(encoded_));
        ctx.finishOutput({});
        ctx.flush();
        EXPECT_GE(ctx.channel().pendingBytes(), encoded_.size());
        ctx.loop().execute([this, &ctx] {
            ctx.write(Buffer::copyOf(behind_));
            ChannelPromise written = ctx.newPromise();
            written.addListener([channel = ChannelRef(ctx.channel())](const ChannelFuture& done) {
                if (done.success()) channel->shutdownOutput();
            });
            ctx.writeAndFlush(Buffer::copyOf(behind_), written);
        });
    }

  private:
    const std::string& encoded_;
    const std::string& behind_;
};

TEST_F(UringTransport, BytesThatAreBeingSentStayWhereTheyAreHoweverOftenTheSocketIsFull) {
    const DescriptorGuard guard;
    const std::size_t blocks = BufferPool::liveBlocks();
    const std::string encoded = pattern(16 << 20), behind = "behind";
    {
        UringHost host;
        Server server(host, [&](Channel& channel) { channel.pipeline().addLast<EncodedSender>(encoded, behind); });
        BlockingPeer peer(server.address);
        std::string received;
        for (std::string more; !(more = peer.receive(100'000)).empty();) received += more;
        EXPECT_TRUE(received == encoded + behind + behind) << received.size() << " bytes";
    }
    EXPECT_EQ(BufferPool::liveBlocks(), blocks);
}

// The end of the output waits for sends in flight, even when nothing is written after them.
TEST_F(UringTransport, AWriteOfNoBytesCompletesAfterTheSendInFlight) {
    const DescriptorGuard guard;
    const std::string encoded = pattern(16 << 20), nothing;
    UringHost host;
    Server server(host, [&](Channel& channel) { channel.pipeline().addLast<EncodedSender>(encoded, nothing); });
    BlockingPeer peer(server.address);
    std::string received;
    for (std::string more; !(more = peer.receive(100'000)).empty();) received += more;
    EXPECT_TRUE(received == encoded) << received.size() << " bytes";
}

// Ends its output while the peer reads nothing.
class EndsOutput final : public ChannelInboundHandler {
  public:
    EndsOutput(const std::string& bytes, Promise<std::size_t>& pending) : bytes_(bytes), pending_(pending) {}
    void channelActive(ChannelHandlerContext& ctx) override {
        ctx.channel().setOption(ChannelOption::WRITE_BUFFER_WATER_MARK, WriteBufferWaterMark(64 << 20, 128 << 20));
        ctx.output().append(std::string_view(bytes_));
        ctx.finishOutput({});
        ctx.flush();
        ctx.loop().execute([channel = ChannelRef(ctx.channel())] { channel->shutdownOutput(); });
    }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        if (event.is<OutputShutdownEvent>()) pending_.setValue(ctx.channel().pendingBytes());
    }

  private:
    const std::string& bytes_;
    Promise<std::size_t>& pending_;
};

TEST_F(UringTransport, NothingIsPendingBehindTheEndOfTheOutput) {
    const DescriptorGuard guard;
    const std::string bytes = pattern(64 << 20);  // more than two socket buffers hold
    Promise<std::size_t> told;
    Future<std::size_t> pending = told.future();
    UringHost host;
    Server server(host, [&](Channel& channel) { channel.pipeline().addLast<EndsOutput>(bytes, told); });
    BlockingPeer peer(server.address);
    ASSERT_TRUE(pending.awaitUntil(testDeadline()));
    EXPECT_EQ(pending.get(), 0u);
}

// The peer does not read, and then resets the connection.
TEST_F(UringTransport, DirectWritesAreReleasedWhenThePeerIsGone) {
    const DescriptorGuard guard;
    const std::size_t blocks = BufferPool::liveBlocks();
    const std::string encoded = pattern(16 << 20), behind = "behind";
    {
        UringHost host;
        Server server(host, [&](Channel& channel) { channel.pipeline().addLast<EncodedSender>(encoded, behind); });
        BlockingPeer peer(server.address);
        EXPECT_EQ(peer.receiveExactly(1000), encoded.substr(0, 1000));
        peer.reset();
    }
    EXPECT_EQ(BufferPool::liveBlocks(), blocks);
}

TEST_F(UringTransport, ACloseWithASendInFlightFailsTheWriteAndReleasesEverything) {
    const DescriptorGuard guard;
    const std::size_t blocks = BufferPool::liveBlocks();
    {
        Promise<ErrorCode> outcome;
        Future<ErrorCode> written = outcome.future();
        Promise<ChannelRef> made;
        Future<ChannelRef> child = made.future();
        const std::string sent = pattern(64 << 20);  // more than two socket buffers hold
        UringHost host;
        Server server(host, [&](Channel& channel) {
            channel.pipeline().addLast<Sender>(sent, [&](ErrorCode error) { outcome.setValue(error); });
            made.setValue(ChannelRef(channel));
        });
        BlockingPeer peer(server.address);
        ASSERT_TRUE(child.awaitUntil(testDeadline()));
        peer.receiveExactly(100'000);
        child.get()->close().sync();
        ASSERT_TRUE(written.awaitUntil(testDeadline()));
        EXPECT_TRUE(written.get());
        while (!peer.receive().empty()) {
        }
    }
    EXPECT_EQ(BufferPool::liveBlocks(), blocks);
}

// Writes, flushes and closes, without waiting in between.
class Goodbye final : public ChannelInboundHandler {
  public:
    explicit Goodbye(Promise<ErrorCode>& outcome) : outcome_(outcome) {}
    void channelActive(ChannelHandlerContext& ctx) override {
        ChannelPromise promise = ctx.newPromise();
        promise.addListener([this](const ChannelFuture& done) { outcome_.setValue(done.error()); });
        ctx.writeAndFlush(Buffer::copyOf("goodbye"), promise);
        ctx.close();
    }

  private:
    Promise<ErrorCode>& outcome_;
};

// Data flushed before the close is sent, and its promise succeeds, although the send ends after the close began.
TEST_F(UringTransport, WhatWasFlushedBeforeACloseIsSentAndSucceeds) {
    const DescriptorGuard guard;
    Promise<ErrorCode> outcome;
    Future<ErrorCode> written = outcome.future();
    UringHost host;
    Server server(host, [&](Channel& channel) { channel.pipeline().addLast<Goodbye>(outcome); });
    BlockingPeer peer(server.address);
    EXPECT_EQ(peer.receiveExactly(7), "goodbye");
    ASSERT_TRUE(written.awaitUntil(testDeadline()));
    EXPECT_FALSE(written.get()) << written.get().message();
    EXPECT_EQ(peer.receive(), "");
}

// Sends a first piece at once, and flushes a second one while that is in flight.
class FlushesTwice final : public ChannelInboundHandler {
  public:
    using Ends = void (*)(ChannelHandlerContext&);
    FlushesTwice(Ends ends, Promise<ErrorCode>& outcome) : ends_(ends), outcome_(outcome) {}
    void channelActive(ChannelHandlerContext& ctx) override {
        ctx.channel().setOption(ChannelOption::FLUSH_IMMEDIATELY, true);
        ctx.writeAndFlush(Buffer::copyOf("first "));
        ChannelPromise promise = ctx.newPromise();
        promise.addListener([this](const ChannelFuture& done) { outcome_.setValue(done.error()); });
        ctx.writeAndFlush(Buffer::copyOf("second"), promise);
        ends_(ctx);
    }

  private:
    const Ends ends_;
    Promise<ErrorCode>& outcome_;
};

void expectBothPieces(FlushesTwice::Ends ends) {
    const DescriptorGuard guard;
    Promise<ErrorCode> outcome;
    Future<ErrorCode> written = outcome.future();
    UringHost host;
    Server server(host, [&](Channel& channel) { channel.pipeline().addLast<FlushesTwice>(ends, outcome); });
    BlockingPeer peer(server.address);
    std::string received;
    EXPECT_EQ(peer.receiveToEnd(received), 0);
    EXPECT_EQ(received, "first second");
    ASSERT_TRUE(written.awaitUntil(testDeadline()));
    EXPECT_FALSE(written.get()) << written.get().message();
}

TEST_F(UringTransport, WhatWasFlushedDuringASendIsSentBeforeTheClose) {
    expectBothPieces([](ChannelHandlerContext& ctx) { ctx.close(); });
}

TEST_F(UringTransport, WhatWasFlushedDuringASendIsSentBeforeTheEndOfTheOutput) {
    expectBothPieces([](ChannelHandlerContext& ctx) { ctx.channel().shutdownOutput(); });
}

ChannelRef activeChannel(UringHost& host, Fd fd) {
    ChannelRef channel = Channel::create(host.loop());
    channel->attach(host.poller().stream(std::move(fd), *channel));
    channel->setActive(true);
    channel->registerWithLoop().sync();
    return channel;
}

// Fills both socket buffers; returns how many bytes that took.
std::size_t fill(int fd) {
    const std::string filler(64 * 1024, '.');
    std::size_t filled = 0;
    for (ssize_t sent; (sent = ::send(fd, filler.data(), filler.size(), MSG_DONTWAIT)) > 0;)
        filled += static_cast<std::size_t>(sent);
    EXPECT_EQ(errno, EAGAIN);
    return filled;
}

TEST_F(UringTransport, BytesThatWaitForAFullSocketStayWhenOtherChannelsWrite) {
    UringHost host;
    RawPair pair, other;
    const std::size_t filled = fill(pair.own.get());
    const ChannelRef channel = activeChannel(host, std::move(pair.own));
    const ChannelRef another = activeChannel(host, std::move(other.own));
    host.inLoop([&] { channel->writeAndFlush(Buffer::copyOf("the first bytes")); });
    host.inLoop([] {});  // a turn later the send is in flight
    host.inLoop([&] { another->writeAndFlush(Buffer::copyOf("other bytes....")); });
    host.inLoop([] {});
    BlockingPeer peer(pair.peer.release());
    EXPECT_EQ(peer.receiveExactly(filled).size(), filled);
    EXPECT_EQ(peer.receiveExactly(15), "the first bytes");
    EXPECT_EQ(BlockingPeer(other.peer.release()).receiveExactly(15), "other bytes....");
    for (const ChannelRef& each : {channel, another}) each->close().sync();
}

}  // namespace
}  // namespace weft::test
