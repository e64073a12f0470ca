// EmbeddedChannel: section 2.17 of the rules.
#include <weft/pipeline/embedded_channel.hpp>

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/context_spawn.hpp>
#include <weft/testing/recorder.hpp>

namespace weft {
namespace {

TEST(EmbeddedChannel, IsRegisteredAndActiveWhenMade) {
    EmbeddedChannel channel;
    EXPECT_TRUE(channel.channel().registered());
    EXPECT_TRUE(channel.active());
}

TEST(EmbeddedChannel, WriteInboundReturnsWhetherSomethingReachedTheEnd) {
    EmbeddedChannel channel;
    EXPECT_TRUE(channel.writeInbound(1, std::string("two")));
    EXPECT_EQ(channel.readInbound<int>(), 1);
    EXPECT_EQ(channel.readInbound<std::string>(), "two");
    EXPECT_TRUE(channel.readInbound().empty());
}

TEST(EmbeddedChannel, WriteOutboundWritesFlushesAndKeepsMessagesApart) {
    EmbeddedChannel channel;
    EXPECT_TRUE(channel.writeOutbound(Buffer::copyOf("a"), Buffer::copyOf("b"), 3));
    EXPECT_EQ(channel.outboundSize(), 3u);
    EXPECT_EQ(channel.readOutboundText(), "ab");
    EXPECT_EQ(channel.readOutbound<int>(), 3);
}

TEST(EmbeddedChannel, AFailedWriteIsThrownByWriteOutbound) {
    struct Refuses final : ChannelOutboundHandler {
        void write(ChannelHandlerContext&, Message&&, ChannelPromise promise) override {
            promise.setFailure(std::make_exception_ptr(std::runtime_error("refused")));
        }
    };
    EmbeddedChannel channel(std::make_unique<Refuses>());
    EXPECT_THROW(channel.writeOutbound(1), std::runtime_error);
    EXPECT_NO_THROW(channel.checkException()) << "an error is thrown once";
}

TEST(EmbeddedChannel, AnExceptionThatReachesTheEndIsKeptForCheckException) {
    EmbeddedChannel channel;
    channel.pipeline().fireExceptionCaught(std::make_exception_ptr(std::runtime_error("first")));
    channel.pipeline().fireExceptionCaught(std::make_exception_ptr(std::logic_error("second, logged")));
    EXPECT_THROW(channel.checkException(), std::runtime_error);
    EXPECT_NO_THROW(channel.checkException());
}

TEST(EmbeddedChannel, TimeStandsStillUntilItIsAdvanced) {
    EmbeddedChannel channel;
    int fired = 0;
    channel.loop().schedule([&] { ++fired; }, std::chrono::seconds(1));
    channel.runPendingTasks();
    EXPECT_EQ(fired, 0);
    channel.advanceTimeBy(std::chrono::milliseconds(999));
    EXPECT_EQ(fired, 0);
    channel.advanceTimeBy(std::chrono::milliseconds(2));
    EXPECT_EQ(fired, 1);
}

TEST(EmbeddedChannel, FinishClosesAndSaysWhetherMessagesAreLeft) {
    EmbeddedChannel empty;
    EXPECT_FALSE(empty.finish());
    EmbeddedChannel full;
    full.writeInbound(1);
    EXPECT_TRUE(full.finish());
    EXPECT_TRUE(full.channel().closed());
    EXPECT_TRUE(full.finishAndReleaseAll());
    EXPECT_EQ(full.inboundSize(), 0u);
}

TEST(EmbeddedChannel, WritingToAClosedOneThrows) {
    EmbeddedChannel channel;
    channel.close();
    EXPECT_THROW(channel.writeInbound(1), ClosedChannelException);
    EXPECT_THROW(channel.writeOutbound(1), ClosedChannelException);
}

TEST(EmbeddedChannel, SpawnSaysThatThereIsNoCarrier) {
    EmbeddedChannel channel;
    struct Idle final : ChannelInboundHandler {};
    channel.pipeline().addLast<Idle>();
    EXPECT_THROW(channel.pipeline().context<Idle>()->spawn([] {}), std::logic_error);
}

}  // namespace
}  // namespace weft
