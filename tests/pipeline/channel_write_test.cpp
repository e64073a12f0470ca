#include <weft/pipeline/channel.hpp>

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/testing/recorder.hpp>

#include "scripted_sink.hpp"

namespace weft {
namespace {

using test::Events;
using test::isWritabilityChange;
using test::Recorder;
using test::ScriptedChannel;

TEST(ChannelWrite, W1_WriteOnlyEnqueuesAndThePromiseCompletesWhenTheBytesAreInTheKernel) {
    ScriptedChannel channel;
    channel.start();
    const ChannelPromise promise = channel->newPromise();
    channel->write(Buffer::copyOf("data"), promise);
    channel.run();
    EXPECT_EQ(channel.sink->count("flush"), 0u);
    EXPECT_FALSE(promise.done());
    channel->flush();
    channel.run();
    EXPECT_EQ(channel.sink->written, "data");
    EXPECT_TRUE(promise.future().success());
}

TEST(ChannelWrite, W1_AWriteOfNoBytesCompletesAtItsFlush) {
    ScriptedChannel channel;
    channel.start();
    const ChannelPromise promise = channel->newPromise();
    channel->writeAndFlush(Buffer(), promise);
    EXPECT_TRUE(promise.future().success());
}

TEST(ChannelWrite, WriteFutureFlushesAndReportsTheWrite) {
    ScriptedChannel channel;
    channel.start();
    const ChannelFuture written = channel->writeFuture(Buffer::copyOf("data"));
    channel.run();
    EXPECT_TRUE(written.success());
    EXPECT_EQ(channel.sink->written, "data");
}

TEST(ChannelWrite, C5_WriteAndCloseClosesOnceTheBytesAreInTheKernel) {
    ScriptedChannel channel;
    channel.start();
    channel.sink->room = 2;
    const ChannelFuture closed = channel->writeAndClose(Buffer::copyOf("data"));
    channel.run();
    EXPECT_FALSE(channel->closed()) << "half of it waits for the socket";
    channel.sink->room = 100;
    channel->onWritable();
    channel.run();
    EXPECT_EQ(channel.sink->written, "data");
    EXPECT_TRUE(closed.success());
    EXPECT_TRUE(channel->closed());
}

TEST(ChannelWrite, C5_WriteAndCloseClosesAfterAFailureToo) {
    ScriptedChannel channel;
    channel.start();
    channel->shutdownOutput();
    channel.run();
    const ChannelFuture closed = channel->writeAndClose(Buffer::copyOf("data"));
    channel.run();
    EXPECT_TRUE(closed.success());
    EXPECT_EQ(channel.sink->written, "");
}

TEST(ChannelWrite, W3_AboveHighIsUnwritableAndBelowLowIsWritableAgain) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel->setOption(ChannelOption::WRITE_BUFFER_WATER_MARK, WriteBufferWaterMark(100, 200));
    channel.start();
    channel.sink->room = 0;
    events.clear();
    channel->write(Buffer::copyOf(std::string(100, 'a')));
    channel->write(Buffer::copyOf(std::string(100, 'b')));
    EXPECT_TRUE(channel->isWritable()) << "exactly high is still writable";
    EXPECT_EQ(channel->bytesBeforeUnwritable(), 1u);
    channel->write(Buffer::copyOf("c"));
    EXPECT_FALSE(channel->isWritable());
    EXPECT_EQ(events.back(), "h:unwritable") << "inside the write (W-4)";
    channel->flush();
    channel.run();
    events.clear();
    channel.sink->room = 90;
    channel->onWritable();
    EXPECT_FALSE(channel->isWritable()) << "111 pending are more than low";
    EXPECT_EQ(channel->bytesBeforeWritable(), 12u);
    channel.sink->room = 100;
    channel->onWritable();
    EXPECT_TRUE(channel->isWritable());
    EXPECT_EQ(events, (Events{"h:writable"}));
}

TEST(ChannelWrite, W3_ExactlyTheLowMarkIsNotYetWritable) {
    ScriptedChannel channel;
    channel->setOption(ChannelOption::WRITE_BUFFER_WATER_MARK, WriteBufferWaterMark(50, 99));
    channel.start();
    channel.sink->room = 50;
    channel->write(Buffer::copyOf(std::string(50, 'a')));
    channel->write(Buffer::copyOf(std::string(50, 'b')));
    EXPECT_FALSE(channel->isWritable());
    channel->flush();
    channel.run();
    EXPECT_EQ(channel->pendingBytes(), 50u);
    EXPECT_FALSE(channel->isWritable());
    channel.sink->room = 50;
    channel->onWritable();
    EXPECT_TRUE(channel->isWritable());
}

TEST(ChannelWrite, W4_WritabilityChangedFiresInsideTheWriteThatCausedItAndNotOnClose) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    channel.sink->room = 0;
    events.clear();
    channel->write(Buffer::copyOf(std::string(70'000, 'x')));
    EXPECT_EQ(events, (Events{"h:write", "h:unwritable"}));
    events.clear();
    channel->close();
    channel.run();
    EXPECT_EQ(std::count_if(events.begin(), events.end(), isWritabilityChange), 0);
}

TEST(ChannelWrite, W3_TheWaterMarksMustBeInOrder) {
    EXPECT_THROW(WriteBufferWaterMark(2, 1), std::invalid_argument);
    EXPECT_NO_THROW(WriteBufferWaterMark(1, 1));
}

TEST(ChannelWrite, W3_AChannelIsWritableOnlyWhileNoUserBitIsClear) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    events.clear();
    channel->setUserDefinedWritability(1, false);
    channel->setUserDefinedWritability(31, false);
    channel->setUserDefinedWritability(1, true);
    EXPECT_FALSE(channel->isWritable());
    channel->setUserDefinedWritability(31, true);
    EXPECT_TRUE(channel->isWritable());
    EXPECT_EQ(events, (Events{"h:unwritable", "h:writable"}));
    EXPECT_THROW(channel->setUserDefinedWritability(0, true), std::out_of_range);
}

TEST(ChannelWrite, W5_AFullSocketIsNotWrittenToUntilItIsWritable) {
    ScriptedChannel channel;
    channel.start();
    channel.sink->room = 3;
    channel->writeAndFlush(Buffer::copyOf("abcdef"));
    channel.run();
    EXPECT_EQ(channel.sink->count("flush"), 1u);
    channel->writeAndFlush(Buffer::copyOf("ghi"));
    channel.run();
    EXPECT_EQ(channel.sink->count("flush"), 1u) << "only marked";
    channel.sink->room = 100;
    channel->onWritable();
    EXPECT_EQ(channel.sink->written, "abcdefghi");
}

TEST(ChannelWrite, W5_AFlushFromAWriteListenerDoesNotNestAndIsNotLost) {
    ScriptedChannel channel;
    channel.start();
    const ChannelPromise promise = channel->newPromise();
    std::size_t flushesInside = 0;
    promise.addListener([&](const ChannelFuture&) {
        channel->writeAndFlush(Buffer::copyOf("second"));
        flushesInside = channel.sink->count("flush");
    });
    channel->writeAndFlush(Buffer::copyOf("first"), promise);
    channel.run();
    EXPECT_EQ(flushesInside, 1u);
    EXPECT_EQ(channel.sink->written, "firstsecond");
}

TEST(ChannelWrite, W5_WhatAListenerFlushesDuringASinksOnlyWriteIsNotTakenForAFullSocket) {
    ScriptedChannel channel;
    channel->setOption(ChannelOption::FLUSH_IMMEDIATELY, true);
    channel.sink->writesOncePerFlush = true;
    channel.start();
    const ChannelPromise promise = channel->newPromise();
    promise.addListener([&](const ChannelFuture&) { channel->writeAndFlush(Buffer::copyOf("second")); });
    channel->writeAndFlush(Buffer::copyOf("first"), promise);
    channel.run();
    EXPECT_EQ(channel.sink->written, "firstsecond");
}

TEST(ChannelWrite, W5_ASinkThatCompletesLaterIsAskedAgainOnceItHasReportedEverything) {
    ScriptedChannel channel;
    channel.start();
    channel.sink->reportsLater = true;
    channel->writeAndFlush(Buffer::copyOf("one"));
    channel.run();
    channel->writeAndFlush(Buffer::copyOf("two"));
    channel.run();
    EXPECT_EQ(channel.sink->count("flush"), 1u);
    channel->onWritten(3);
    channel.run();
    EXPECT_EQ(channel.sink->count("flush"), 2u);
    EXPECT_EQ(channel.sink->written, "onetwo");
    channel->onWritten(3);
}

TEST(ChannelWrite, W6_AFlushBeforeTheConnectionFailsNotYetConnected) {
    ScriptedChannel channel(false);
    channel.start();
    const ChannelPromise promise = channel->newPromise();
    channel->writeAndFlush(Buffer::copyOf("early"), promise);
    EXPECT_THROW(promise.future().sync(), NotYetConnectedException);
    channel->connect(SocketAddress::loopbackV4(1));
    channel->writeAndFlush(Buffer::copyOf("late"));
    channel.run();
    EXPECT_EQ(channel.sink->written, "late");
}

TEST(ChannelWrite, W7_ManyFlushesOfATurnAreOneKernelWriteAtTheFlushPoint) {
    ScriptedChannel channel;
    channel.start();
    for (int i = 0; i < 16; ++i) channel->writeAndFlush(Buffer::copyOf("answer "));
    EXPECT_EQ(channel.sink->count("flush"), 0u);
    channel.run();
    EXPECT_EQ(channel.sink->count("flush"), 1u);
    EXPECT_EQ(channel.sink->written.size(), 16 * 7u);
    EXPECT_LE(channel.sink->mostPieces, 2u);
}

// Writes and flushes at the flush point.
struct WritesAtFlushPoint final : FlushPointListener {
    WritesAtFlushPoint(ScriptedChannel& channel, std::string text, ChannelPromise promise = {})
        : channel(channel), text(std::move(text)), promise(std::move(promise)) {
        channel.loop.requestFlushPoint(*this);
    }
    void onFlushPoint() noexcept override { channel->writeAndFlush(Buffer::copyOf(text), promise); }

    ScriptedChannel& channel;
    std::string text;
    ChannelPromise promise;
};

TEST(ChannelWrite, W7_AWriteAtTheFlushPointDoesNotWaitForTheNext) {
    ScriptedChannel channel;
    channel.start();
    const WritesAtFlushPoint writes(channel, "answer");
    channel.loop.runFlushPoint();
    EXPECT_EQ(channel.sink->written, "answer");
    EXPECT_EQ(channel.sink->count("flush"), 1u);
    EXPECT_EQ(channel->pendingBytes(), 0u);
    EXPECT_EQ(channel->writtenBytes(), 6u);
}

TEST(ChannelWrite, W7_WhatTheSinkDoesNotTakeWaits) {
    ScriptedChannel channel;
    channel.start();
    channel.sink->room = 2;
    const WritesAtFlushPoint writes(channel, "answer");
    channel.run();
    EXPECT_EQ(channel.sink->written, "an");
    EXPECT_EQ(channel->pendingBytes(), 4u);
    EXPECT_EQ(channel->writtenBytes(), 2u);
    const WritesAtFlushPoint later(channel, " next");
    channel.run();
    channel.sink->room = 100;
    channel->onWritable();
    EXPECT_EQ(channel.sink->written, "answer next");
    EXPECT_EQ(channel->pendingBytes(), 0u);
    EXPECT_EQ(channel->writtenBytes(), 11u);
}

TEST(ChannelWrite, W7_BytesGoBehindThoseThatWaitAndAPromiseIsKept) {
    ScriptedChannel channel;
    channel.start();
    channel->write(Buffer::copyOf("first, "));
    const WritesAtFlushPoint writes(channel, "then", channel->newPromise());
    channel.run();
    EXPECT_EQ(channel.sink->written, "first, then");
    EXPECT_TRUE(writes.promise.future().success());
}

TEST(ChannelWrite, W7_MoreThanTheCapDoesNotWaitForTheFlushPoint) {
    ScriptedChannel channel;
    channel->setOption(ChannelOption::WRITE_BUFFER_WATER_MARK, {32 * 1024, 1024 * 1024});
    channel.start();
    channel->writeAndFlush(Buffer::copyOf(std::string(Channel::flushCap - 1, 'x')));
    EXPECT_EQ(channel.sink->count("flush"), 0u);
    channel->writeAndFlush(Buffer::copyOf("y"));
    EXPECT_EQ(channel.sink->count("flush"), 1u);
}

TEST(ChannelWrite, W7_AFlushThatLeavesTheChannelUnwritableDoesNotWaitForTheFlushPoint) {
    ScriptedChannel channel;
    channel->setOption(ChannelOption::WRITE_BUFFER_WATER_MARK, {100, 900});
    channel.start();
    channel->writeAndFlush(Buffer::copyOf(std::string(500, 'x')));
    EXPECT_EQ(channel.sink->count("flush"), 0u);
    channel->writeAndFlush(Buffer::copyOf(std::string(500, 'x')));
    EXPECT_EQ(channel.sink->count("flush"), 1u);
    EXPECT_TRUE(channel->isWritable());
}

TEST(ChannelWrite, W7_FlushImmediatelyWritesAtOnce) {
    ScriptedChannel channel;
    channel->setOption(ChannelOption::FLUSH_IMMEDIATELY, true);
    channel.start();
    channel->writeAndFlush(Buffer::copyOf("now"));
    EXPECT_EQ(channel.sink->written, "now");
}

TEST(ChannelWrite, W7_ACloseBeforeTheFlushPointSendsFlushedWritesButNotUnflushedOnes) {
    ScriptedChannel channel;
    channel.start();
    channel->writeAndFlush(Buffer::copyOf("kept"));
    channel->write(Buffer::copyOf("lost"));
    channel->close();
    channel.run();
    EXPECT_EQ(channel.sink->written, "kept");
}

TEST(ChannelWrite, AMessageThatTheTransportCannotWriteFailsItsPromise) {
    ScriptedChannel channel;
    channel.start();
    const ChannelPromise promise = channel->newPromise();
    channel->write(std::string("no buffer"), promise);
    EXPECT_THROW(promise.future().sync(), UnsupportedMessageException);
}

TEST(ChannelWrite, AMessageThatTheTransportCannotWriteIsLoggedWhenNobodyListens) {
    static std::string logged;
    logged.clear();
    setLogSink([](LogLevel, std::string_view text) noexcept { logged += text; });
    ScriptedChannel channel;
    channel.start();
    channel->writeAndFlush(std::string("no buffer"));
    setLogSink(nullptr);
    EXPECT_NE(logged.find("string"), std::string::npos) << logged;
    EXPECT_NE(logged.find("dropped"), std::string::npos) << logged;
}

TEST(ChannelWrite, AHandlerMayWriteAgainFromWritabilityChanged) {
    struct Refills final : ChannelInboundHandler {
        void channelWritabilityChanged(ChannelHandlerContext& ctx) override {
            if (ctx.channel().isWritable() && ++refills < 3) {
                ctx.writeAndFlush(Buffer::copyOf(std::string(70'000, 'r')));
            }
        }
        int refills = 0;
    };
    ScriptedChannel channel;
    channel.pipeline().addLast<Refills>();
    channel.start();
    channel->writeAndFlush(Buffer::copyOf(std::string(70'000, 'w')));
    channel.run();
    EXPECT_EQ(channel.sink->written.size(), 3 * 70'000u);
    EXPECT_EQ(channel->pendingBytes(), 0u);
}

}  // namespace
}  // namespace weft
