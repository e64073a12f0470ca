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

// Writes its bytes at a flush point, past the outbound buffer, and then some more through it.
class DirectSender final : public ChannelInboundHandler, private FlushPointListener {
  public:
    DirectSender(const std::string& direct, const std::string& behind) : direct_(direct), behind_(behind) {}
    void channelActive(ChannelHandlerContext& ctx) override {
        ctx_ = &ctx;
        ctx.channel().setOption(ChannelOption::WRITE_BUFFER_WATER_MARK, WriteBufferWaterMark(64 << 20, 128 << 20));
        ctx.loop().requestFlushPoint(*this);
    }

  private:
    void onFlushPoint() noexcept override {
        Buffer bytes = Buffer::copyOf(direct_);
        EXPECT_EQ(ctx_->tryWriteDirect("nobody owns these", Buffer()), 0u);
        EXPECT_EQ(ctx_->tryWriteDirect(bytes.view(), bytes), bytes.readableBytes());
        EXPECT_FALSE(bytes.unique());
        EXPECT_GE(ctx_->channel().pendingBytes(), bytes.readableBytes());
        EXPECT_EQ(ctx_->tryWriteDirect(bytes.view(), bytes), 0u) << "one send at a time";
        ChannelHandlerContext& ctx = *ctx_;
        ctx.channel().loop().execute([this, &ctx] {
            ctx.write(Buffer::copyOf(behind_));
            ChannelPromise written = ctx.newPromise();
            written.addListener([channel = ChannelRef(ctx.channel())](const ChannelFuture& done) {
                if (done.success()) channel->shutdownOutput();
            });
            ctx.writeAndFlush(Buffer::copyOf(behind_), written);
        });
    }

    ChannelHandlerContext* ctx_ = nullptr;
    const std::string& direct_;
    const std::string& behind_;
};

TEST_F(UringTransport, DirectWritesAreSentFirstHoweverOftenTheSocketIsFull) {
    const DescriptorGuard guard;
    const std::size_t blocks = BufferPool::liveBlocks();
    const std::string direct = pattern(16 << 20), behind = "behind";
    {
        UringHost host;
        Server server(host, [&](Channel& channel) { channel.pipeline().addLast<DirectSender>(direct, behind); });
        BlockingPeer peer(server.address);
        std::string received;
        for (std::string more; !(more = peer.receive(100'000)).empty();) received += more;
        EXPECT_TRUE(received == direct + behind + behind) << received.size() << " bytes";
    }
    EXPECT_EQ(BufferPool::liveBlocks(), blocks);
}

// The end of the output waits for sends in flight, even when nothing is written after them.
TEST_F(UringTransport, AWriteOfNoBytesCompletesAfterADirectWrite) {
    const DescriptorGuard guard;
    const std::string direct = pattern(16 << 20), nothing;
    UringHost host;
    Server server(host, [&](Channel& channel) { channel.pipeline().addLast<DirectSender>(direct, nothing); });
    BlockingPeer peer(server.address);
    std::string received;
    for (std::string more; !(more = peer.receive(100'000)).empty();) received += more;
    EXPECT_TRUE(received == direct) << received.size() << " bytes";
}

// Ends its output while the peer reads nothing.
class EndsOutput final : public ChannelInboundHandler, private FlushPointListener {
  public:
    EndsOutput(const std::string& direct, Promise<std::size_t>& pending) : direct_(direct), pending_(pending) {}
    void channelActive(ChannelHandlerContext& ctx) override {
        ctx_ = &ctx;
        ctx.channel().setOption(ChannelOption::WRITE_BUFFER_WATER_MARK, WriteBufferWaterMark(64 << 20, 128 << 20));
        ctx.loop().requestFlushPoint(*this);
    }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        if (event.is<OutputShutdownEvent>()) pending_.setValue(ctx.channel().pendingBytes());
    }

  private:
    void onFlushPoint() noexcept override {
        const Buffer bytes = Buffer::copyOf(direct_);
        EXPECT_EQ(ctx_->tryWriteDirect(bytes.view(), bytes), bytes.readableBytes());
        ctx_->loop().execute([channel = ChannelRef(ctx_->channel())] { channel->shutdownOutput(); });
    }

    ChannelHandlerContext* ctx_ = nullptr;
    const std::string& direct_;
    Promise<std::size_t>& pending_;
};

TEST_F(UringTransport, NothingIsPendingBehindTheEndOfTheOutput) {
    const DescriptorGuard guard;
    const std::string direct = pattern(64 << 20);  // more than two socket buffers hold
    Promise<std::size_t> told;
    Future<std::size_t> pending = told.future();
    UringHost host;
    Server server(host, [&](Channel& channel) { channel.pipeline().addLast<EndsOutput>(direct, told); });
    BlockingPeer peer(server.address);
    ASSERT_TRUE(pending.awaitUntil(testDeadline()));
    EXPECT_EQ(pending.get(), 0u);
}

// The peer does not read, and then resets the connection.
TEST_F(UringTransport, DirectWritesAreReleasedWhenThePeerIsGone) {
    const DescriptorGuard guard;
    const std::size_t blocks = BufferPool::liveBlocks();
    const std::string direct = pattern(16 << 20), behind = "behind";
    {
        UringHost host;
        Server server(host, [&](Channel& channel) { channel.pipeline().addLast<DirectSender>(direct, behind); });
        BlockingPeer peer(server.address);
        EXPECT_EQ(peer.receiveExactly(1000), direct.substr(0, 1000));
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

}  // namespace
}  // namespace weft::test
