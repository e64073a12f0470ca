#include <weft/pipeline/handlers/flow_control_handler.hpp>

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/codec/line_based_frame_decoder.hpp>
#include <weft/pipeline/codec/string_codec.hpp>
#include <weft/testing/recorder.hpp>

#include "../scripted_sink.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using test::Events;
using test::ScriptedChannel;

struct Reader final : ChannelInboundHandler {
    using Action = std::function<void(ChannelHandlerContext&)>;
    explicit Reader(Events& events) : events(events) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        events.push_back(message.take<std::string>());
        if (onRead) onRead(ctx);
    }
    void channelReadComplete(ChannelHandlerContext& ctx) override {
        events.push_back("complete");
        if (onComplete) onComplete(ctx);
    }
    Events& events;
    Action onRead;
    Action onComplete;
};

// Several lines in one read.
struct Lines {
    explicit Lines(bool autoRead = false) {
        channel->setOption(ChannelOption::AUTO_READ, autoRead);
        channel.pipeline().addLast<LineBasedFrameDecoder>(100).addLast<StringDecoder>();
        channel.pipeline().addLast<FlowControlHandler>().addLast<Reader>(events);
        channel.start();
    }
    Reader& reader() { return *channel.pipeline().get<Reader>(); }
    FlowControlHandler& flow() { return *channel.pipeline().get<FlowControlHandler>(); }
    Events take() { return std::exchange(events, {}); }
    Events events;
    ScriptedChannel channel;
};

TEST(FlowControlHandler, R6_OneMessagePerRead) {
    Lines test;
    test.channel->read();
    EXPECT_TRUE(test.channel.sink->wantsRead);
    test.channel.deliver({"a\nb\nc\n"});
    EXPECT_EQ(test.take(), (Events{"a", "complete"}));
    EXPECT_EQ(test.flow().queuedMessages(), 2u);
    EXPECT_FALSE(test.channel.sink->wantsRead);
    test.channel->read();
    EXPECT_EQ(test.take(), (Events{"b", "complete"}));
    EXPECT_FALSE(test.channel.sink->wantsRead) << "a message was waiting: nothing is asked of the transport";
    test.channel->read();
    EXPECT_EQ(test.take(), (Events{"c", "complete"}));
    test.channel->read();
    EXPECT_TRUE(test.channel.sink->wantsRead) << "the queue is empty";
    test.channel.deliver({"d\n"});
    EXPECT_EQ(test.take(), (Events{"d", "complete"}));
}

TEST(FlowControlHandler, R6_NothingPassesWithoutARead) {
    Lines test;
    test.channel.deliver({"a\nb\n"});
    EXPECT_EQ(test.take(), Events{}) << "not even the end of a cycle in which nothing came";
    EXPECT_EQ(test.flow().queuedMessages(), 2u);
}

// A decoder with half a message requests the rest itself, so the two handlers together do not stall.
TEST(FlowControlHandler, R6_AMessageThatNeedsManyReadsArrivesForOneRead) {
    Lines test;
    test.channel->read();
    for (const char* part : {"he", "ll", "o"}) {
        ASSERT_TRUE(test.channel.sink->wantsRead) << part;
        test.channel.deliver({part});
    }
    test.channel.deliver({"\nnext\n"});
    Events events = test.take();
    std::erase(events, "complete");
    EXPECT_EQ(events, Events{"hello"});
    EXPECT_FALSE(test.channel.sink->wantsRead);
}

TEST(FlowControlHandler, R6_AReadFromInsideChannelReadTakesTheNextWithoutNesting) {
    Lines test;
    int depth = 0;
    int deepest = 0;
    test.reader().onRead = [&](ChannelHandlerContext& ctx) {
        deepest = std::max(deepest, ++depth);
        ctx.read();
        --depth;
    };
    std::string many;
    for (int i = 0; i < 1000; ++i) many += std::to_string(i) + "\n";
    test.channel.deliver({many.c_str()});
    test.channel->read();
    EXPECT_EQ(test.events.size(), 1001u);
    EXPECT_EQ(test.events.back(), "complete");
    EXPECT_EQ(deepest, 1);
    EXPECT_TRUE(test.channel.sink->wantsRead) << "the last read() is for what comes next";
}

TEST(FlowControlHandler, R6_AReadFromInsideReadCompleteTakesTheNext) {
    Lines test;
    test.reader().onComplete = [](ChannelHandlerContext& ctx) { ctx.read(); };
    test.channel->read();
    test.channel.deliver({"a\nb\nc\n"});
    EXPECT_EQ(test.take(), (Events{"a", "complete", "b", "complete", "c", "complete"}));
    EXPECT_TRUE(test.channel.sink->wantsRead);
}

TEST(FlowControlHandler, R6_TwoReadsBeforeAnythingCameAreOne) {
    Lines test;
    test.channel->read();
    test.channel->read();
    test.channel.deliver({"a\nb\n"});
    EXPECT_EQ(test.take(), (Events{"a", "complete"}));
}

TEST(FlowControlHandler, WithAutoReadEverythingPasses) {
    Lines test(true);
    test.channel.deliver({"a\nb\n"});
    EXPECT_EQ(test.take(), (Events{"a", "b", "complete"}));
    EXPECT_TRUE(test.channel.sink->wantsRead);
}

TEST(FlowControlHandler, AutoReadSwitchedOffInsideChannelReadStopsTheRestAndOnAgainReleasesIt) {
    Lines test(true);
    test.reader().onRead = [&](ChannelHandlerContext& ctx) {
        ctx.channel().setOption(ChannelOption::AUTO_READ, false);
    };
    test.channel.deliver({"a\nb\nc\n"});
    EXPECT_EQ(test.take(), (Events{"a", "complete"}));
    EXPECT_FALSE(test.channel.sink->wantsRead);
    test.reader().onRead = {};
    test.channel->setOption(ChannelOption::AUTO_READ, true);
    EXPECT_EQ(test.take(), (Events{"b", "c", "complete"}));
    EXPECT_TRUE(test.channel.sink->wantsRead) << "and the flow goes on";
}

TEST(FlowControlHandler, WhatWaitsPassesWhenTheHandlerIsRemoved) {
    Lines test;
    test.channel.deliver({"a\nb\n"});
    test.channel.pipeline().remove<FlowControlHandler>();
    EXPECT_EQ(test.take(), (Events{"a", "b", "complete"}));
}

TEST(FlowControlHandler, WhatWaitsIsDroppedWhenTheChannelBecomesInactive) {
    test::LogCapture log;
    Lines test;
    test.channel.deliver({"a\nb\n"});
    test.channel->close();
    test.channel.run();
    EXPECT_EQ(test.take(), Events{});
    EXPECT_EQ(log.count("FlowControlHandler#0 dropped 2 messages"), 1);
}

}  // namespace
}  // namespace weft
