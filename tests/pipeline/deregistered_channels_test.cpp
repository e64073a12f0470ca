// The list by which a loop's end finds the channels that have left its poller.
#include <weft/pipeline/detail/deregistered_channels.hpp>

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "recorder.hpp"
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

}  // namespace
}  // namespace weft
