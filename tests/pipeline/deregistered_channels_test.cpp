// Channels that have left their poller: the list by which the loop's end finds them, and what they write meanwhile.
#include <weft/pipeline/detail/deregistered_channels.hpp>

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include <weft/pipeline/detail/output_tail.hpp>
#include <weft/testing/recorder.hpp>

#include "scripted_sink.hpp"

namespace weft {
namespace {

using test::Events;
using test::Recorder;
using test::ScriptedChannel;

void deregister(ScriptedChannel& channel) {
    channel->deregister();
    channel.run();
    ASSERT_FALSE(channel->registered());
}

void closeAllOf(ScriptedChannel& channel) {
    channel.loop.execute([&] { detail::DeregisteredChannels::closeAllOf(channel.loop); });
    channel.run();
}

TEST(DeregisteredChannels, S6_TheEndOfTheLoopClosesThemAndRemovesTheirHandlers) {
    Events events;
    ScriptedChannel channel;
    channel.pipeline().addLast(std::make_unique<Recorder>("h", events));
    channel.start();
    deregister(channel);
    events.clear();
    closeAllOf(channel);
    EXPECT_EQ(channel.sink->count("close"), 1u);
    EXPECT_TRUE(channel->closeFuture().success());
    EXPECT_EQ(events, (Events{"h:close", "h:inactive", "h:removed"}));
    closeAllOf(channel);
    EXPECT_EQ(events.size(), 3u);
}

TEST(DeregisteredChannels, S6_TheEndOfAnotherLoopAndALaterRegistrationLeaveThemOpen) {
    ScriptedChannel channel, another;
    for (ScriptedChannel* const each : {&channel, &another}) {
        each->start();
        deregister(*each);
    }
    closeAllOf(another);
    EXPECT_TRUE(another->closed());
    EXPECT_TRUE(channel->open());
    channel.start();
    closeAllOf(channel);
    EXPECT_TRUE(channel->open()) << "the transport closes those that are registered";
    deregister(channel);
    closeAllOf(channel);
    EXPECT_TRUE(channel->closed());
}

TEST(DeregisteredChannels, OneWithoutReferencesHasLeftTheList) {
    ManualClock clock;
    EventLoop loop(clock);
    const auto sink = std::make_shared<test::SinkScript>();
    ChannelRef channel = Channel::create(loop);
    channel->attach(std::make_unique<test::ScriptedSink>(*channel, sink));
    channel->registerWithLoop({});
    channel->deregister();
    loop.runTasks();
    channel = {};
    EXPECT_EQ(sink->calls.back(), "destroyed");
    detail::DeregisteredChannels::closeAllOf(loop);
    EXPECT_EQ(sink->count("close"), 0u);
}

TEST(DeregisteredChannels, TheirWritesLieInNoSharedBlockAndLeaveAtOnce) {
    ScriptedChannel channel;
    channel.start();
    deregister(channel);
    const auto& block = channel.loop.local<detail::OutputBlock>();
    channel->write(Buffer::copyOf("a"));
    EXPECT_EQ(block.users(), 0u);
    channel->writeAndFlush(Buffer::copyOf("b"));
    EXPECT_EQ(channel.sink->written, "ab");
    channel->write(Buffer::copyOf("c"));
    channel.start();
    channel->writeAndFlush(Buffer::copyOf("d"));
    channel.loop.runFlushPoint();
    EXPECT_EQ(channel.sink->written, "abcd");
    EXPECT_EQ(block.users(), 0u);
}

TEST(DeregisteredChannels, AWriteBeforeTheDeregistrationAndOneInsideItLeaveTheSharedBlock) {
    struct Writes final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            ctx.write(std::move(message));
            ctx.deregister();
        }
        void channelUnregistered(ChannelHandlerContext& ctx) override { ctx.write(Buffer::copyOf("inside")); }
    };
    ScriptedChannel channel;
    channel.pipeline().addLast<Writes>();
    channel.start();
    channel.deliver({"before "});
    channel.run();
    ASSERT_FALSE(channel->registered());
    EXPECT_EQ(channel.loop.local<detail::OutputBlock>().users(), 0u);
    channel.start();
    channel->writeAndFlush(Buffer::copyOf(" and after"));
    channel.loop.runFlushPoint();
    EXPECT_EQ(channel.sink->written, "before inside and after");
    EXPECT_EQ(channel.loop.local<detail::OutputBlock>().users(), 0u);
}

TEST(DeregisteredChannels, TheLastReferenceMayGoWhileBytesWaitForAFullSocket) {
    ManualClock clock;
    EventLoop loop(clock);
    const auto sink = std::make_shared<test::SinkScript>();
    ChannelRef channel = Channel::create(loop);
    channel->attach(std::make_unique<test::ScriptedSink>(*channel, sink));
    channel->setActive(true);
    channel->registerWithLoop({});
    channel->deregister();
    loop.runTasks();
    sink->room = 1;
    channel->writeAndFlush(Buffer::copyOf("two"));
    channel = {};
    EXPECT_EQ(sink->calls.back(), "destroyed");
    loop.runFlushPoint();
    EXPECT_EQ(sink->written, "t");
}

// As io_uring, which sends nothing while it is not registered.
TEST(DeregisteredChannels, BytesThatTheSinkDidNotSendAreOfferedAgainAfterTheNextRegistration) {
    ScriptedChannel channel;
    channel.start();
    deregister(channel);
    channel.sink->room = 0;
    channel->writeAndFlush(Buffer::copyOf("waits"));
    channel.sink->room = 100;
    channel.start();
    channel.loop.runFlushPoint();
    EXPECT_EQ(channel.sink->written, "waits");
}

}  // namespace
}  // namespace weft
