#include <weft/pipeline/channel.hpp>
#include <weft/testing/recorder.hpp>

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "scripted_sink.hpp"

namespace weft {
namespace {

using test::Events;
using test::Recorder;
using test::ScriptedChannel;

struct OnRead final : ChannelInboundHandler {
    explicit OnRead(std::function<void(ChannelHandlerContext&)> action) : action_(std::move(action)) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        message.reset();
        action_(ctx);
    }
    std::function<void(ChannelHandlerContext&)> action_;
};

TEST(ChannelRead, R1_OneReadCompleteEndsEachCycle) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    events.clear();
    channel.deliver({"a", "b"});
    EXPECT_EQ(events, (Events{"h:read", "h:read", "h:readComplete"}));
}

TEST(ChannelRead, R1_ACycleEndsAfterMaxMessages) {
    ScriptedChannel channel;
    channel->setOption(ChannelOption::MAX_MESSAGES_PER_READ, 3u);
    channel.start();
    for (int i = 0; i < 2; ++i) {
        channel->onRead(Buffer::copyOf("x"));
        EXPECT_TRUE(channel->keepReading());
    }
    channel->onRead(Buffer::copyOf("x"));
    EXPECT_FALSE(channel->keepReading());
    channel->onReadComplete();
    channel->onRead(Buffer::copyOf("x"));
    EXPECT_TRUE(channel->keepReading()) << "the next cycle counts from the start";
    channel->onReadComplete();
}

TEST(ChannelRead, R2_AutoReadReadsAfterActiveAndAfterEachReadComplete) {
    Events events;
    ScriptedChannel channel;
    auto recorder = std::make_unique<Recorder>("h", events);
    recorder->recordsReadRequests = true;
    channel.pipeline().addLast(std::move(recorder));
    channel.start();
    EXPECT_EQ(events.back(), "h:readRequest");
    events.clear();
    channel.deliver({"a"});
    EXPECT_EQ(events, (Events{"h:read", "h:readComplete", "h:readRequest"}));
    EXPECT_EQ(channel.sink->count("wantRead 1"), 1u) << "a level: told once, until told off";
    EXPECT_EQ(channel.sink->count("wantRead 0"), 0u);
}

TEST(ChannelRead, R2_AHandlerThatWithholdsReadStopsTheFlow) {
    struct Withholds final : ChannelOutboundHandler {
        void read(ChannelHandlerContext& ctx) override {
            if (open) ctx.read();
        }
        bool open = true;
    };
    ScriptedChannel channel;
    channel.pipeline().addLast<Withholds>();
    channel.start();
    channel.pipeline().get<Withholds>()->open = false;
    channel.deliver({"a"});
    EXPECT_FALSE(channel.sink->wantsRead);
    channel.pipeline().get<Withholds>()->open = true;
    channel->read();
    EXPECT_TRUE(channel.sink->wantsRead);
}

TEST(ChannelRead, R3_WithoutAutoReadNothingIsWantedUntilRead) {
    ScriptedChannel channel;
    channel->setOption(ChannelOption::AUTO_READ, false);
    channel.start();
    EXPECT_FALSE(channel.sink->wantsRead);
    channel->read();
    EXPECT_TRUE(channel.sink->wantsRead);
    channel->onRead(Buffer::copyOf("a"));
    EXPECT_FALSE(channel->keepReading()) << "one message per read()";
    channel->onReadComplete();
    EXPECT_FALSE(channel.sink->wantsRead);
}

TEST(ChannelRead, R3_AReadIssuedDuringDeliveryIsRemembered) {
    ScriptedChannel channel;
    channel->setOption(ChannelOption::AUTO_READ, false);
    channel.pipeline().addLast<OnRead>([](ChannelHandlerContext& ctx) { ctx.read(); });
    channel.start();
    channel->read();
    channel.deliver({"a"});
    EXPECT_TRUE(channel.sink->wantsRead);
    EXPECT_EQ(channel.sink->count("wantRead 0"), 0u);
}

TEST(ChannelRead, R3_SwitchingAutoReadOffInsideChannelReadStopsAfterThisMessage) {
    ScriptedChannel channel;
    channel.pipeline().addLast<OnRead>(
        [](ChannelHandlerContext& ctx) { ctx.channel().setOption(ChannelOption::AUTO_READ, false); });
    channel.start();
    channel->onRead(Buffer::copyOf("a"));
    EXPECT_FALSE(channel->keepReading());
    EXPECT_FALSE(channel.sink->wantsRead);
    channel->onReadComplete();
    EXPECT_FALSE(channel.sink->wantsRead);
    channel->setOption(ChannelOption::AUTO_READ, true);
    EXPECT_TRUE(channel.sink->wantsRead) << "switching it on triggers a read()";
}

TEST(ChannelRead, R4_ACycleGoesOnOnlyWhileAutoReadIsOnAndTheChannelIsOpen) {
    ScriptedChannel channel;
    channel.pipeline().addLast<OnRead>([](ChannelHandlerContext& ctx) { ctx.close(); });
    channel.start();
    EXPECT_TRUE(channel->keepReading());
    channel->onRead(Buffer::copyOf("a"));
    EXPECT_FALSE(channel->keepReading());
    EXPECT_TRUE(channel->closed());
}

TEST(ChannelRead, R5_TheReadSizeGrowsAtOnceAndShrinksAfterTwoSmallReads) {
    ScriptedChannel channel;
    channel.start();
    EXPECT_EQ(channel->readBufferSize(), 2048u);
    channel->onRead(Buffer::copyOf(std::string(2048, 'x')));
    EXPECT_EQ(channel->readBufferSize(), 8192u);
    channel->onRead(Buffer::copyOf("small"));
    EXPECT_EQ(channel->readBufferSize(), 8192u);
    channel->onRead(Buffer::copyOf("small"));
    EXPECT_EQ(channel->readBufferSize(), 4096u);
    channel->onReadComplete();
    for (int i = 0; i < 40; ++i) channel->onRead(Buffer::copyOf("small"));
    EXPECT_EQ(channel->readBufferSize(), Channel::minReadBytes);
    channel->onReadComplete();
}

TEST(ChannelRead, ACloseInsideACycleStillGivesItsReadComplete) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.pipeline().addLast<OnRead>([](ChannelHandlerContext& ctx) { ctx.close(); });
    channel.start();
    events.clear();
    channel->onRead(Buffer::copyOf("a"));  // a sink that finds the channel closed makes no further calls
    channel.run();
    EXPECT_EQ(events, (Events{"h:read", "h:close", "h:readComplete", "h:inactive", "h:unregistered", "h:removed"}));
}

}  // namespace
}  // namespace weft
