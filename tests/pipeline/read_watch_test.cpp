// ChannelHandlerContext::watchReadCycles(): which handlers are called for read cycles.
#include <weft/pipeline/channel.hpp>

#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/testing/recorder.hpp>

#include "scripted_sink.hpp"

namespace weft {
namespace {

using test::Events;
using test::ScriptedChannel;

// Records the read-cycle events that it receives and passes everything on.
struct Cycles final : ChannelDuplexHandler {
    Cycles(std::string name, Events& events) : name_(std::move(name)), events_(events) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        if (onRead) onRead(ctx);
        ctx.fireChannelRead(std::move(message));
    }
    void channelReadComplete(ChannelHandlerContext& ctx) override {
        events_.push_back(name_ + ":end");
        if (onEnd) onEnd(ctx);
        ctx.fireChannelReadComplete();
    }
    void read(ChannelHandlerContext& ctx) override {
        events_.push_back(name_ + ":read");
        if (!withholdsReads) ctx.read();
    }

    std::function<void(ChannelHandlerContext&)> onRead;
    std::function<void(ChannelHandlerContext&)> onEnd;
    bool withholdsReads = false;

  private:
    std::string name_;
    Events& events_;
};

struct TakesMessages final : ChannelInboundHandler {
    void channelRead(ChannelHandlerContext&, Message&& message) override { message.reset(); }
};

// A started channel with the Cycles handlers "a" and "b", followed by a handler that consumes the messages.
struct ReadWatch : testing::Test {
    Events events;
    ScriptedChannel channel;
    Cycles& a = add("a");
    Cycles& b = add("b");

    ReadWatch() { channel.pipeline().addLast<TakesMessages>(); }
    Cycles& add(const std::string& name) {
        auto made = std::make_unique<Cycles>(name, events);
        Cycles& handler = *made;
        channel.pipeline().addLast(name, std::move(made));
        return handler;
    }
    void start() {
        channel.start();
        events.clear();
    }
    void watch(const char* name, bool on) { channel.pipeline().context(name)->watchReadCycles(on); }
    Events cycle() {
        events.clear();
        channel.deliver({"x", "y"});
        return events;
    }
    const Events all = {"a:end", "b:end", "b:read", "a:read"};
    const Events none = {};
};

TEST_F(ReadWatch, AllHandlersOfReadCyclesWatchFromTheStart) {
    start();
    EXPECT_EQ(cycle(), all);
}

TEST_F(ReadWatch, R2_AChannelWithoutWatchersReadsOn) {
    start();
    watch("a", false);
    watch("b", false);
    EXPECT_EQ(cycle(), none);
    EXPECT_EQ(cycle(), none);
    EXPECT_TRUE(channel.sink->wantsRead);
    EXPECT_EQ(channel.sink->count("wantRead 0"), 0u);
    EXPECT_TRUE(channel->keepReading());
}

TEST_F(ReadWatch, R2_AReadThatWasWithheldIsMadeUpForAtTheEndOfACycleWithoutWatchers) {
    start();
    a.withholdsReads = true;
    cycle();
    EXPECT_FALSE(channel.sink->wantsRead);
    a.withholdsReads = false;
    watch("a", false);
    watch("b", false);
    EXPECT_EQ(cycle(), none) << "of bytes that had come before";
    EXPECT_TRUE(channel.sink->wantsRead);
}

TEST_F(ReadWatch, OneWatcherMakesAllHandlersCalled) {
    start();
    watch("a", false);
    EXPECT_EQ(cycle(), all);
    watch("b", false);
    EXPECT_EQ(cycle(), none);
    watch("a", true);
    EXPECT_EQ(cycle(), all);
}

TEST_F(ReadWatch, RepeatedCallsChangeNothing) {
    start();
    for (int i = 0; i < 3; ++i) watch("a", false);
    EXPECT_EQ(cycle(), all) << "b watches";
    watch("b", false);
    EXPECT_EQ(cycle(), none);
    for (int i = 0; i < 3; ++i) watch("b", true);
    watch("b", false);
    EXPECT_EQ(cycle(), none);
}

TEST_F(ReadWatch, WatchingFromTheMiddleOfACycleReceivesItsEnd) {
    start();
    watch("a", false);
    watch("b", false);
    b.onRead = [](ChannelHandlerContext& ctx) { ctx.watchReadCycles(true); };
    EXPECT_EQ(cycle(), all);
}

TEST_F(ReadWatch, UnwatchingInTheMiddleOfACycleSkipsItsEnd) {
    start();
    a.onRead = b.onRead = [](ChannelHandlerContext& ctx) { ctx.watchReadCycles(false); };
    EXPECT_EQ(cycle(), none);
}

TEST_F(ReadWatch, UnwatchingInsideTheEndOfACycleStillCallsAllAndReadsOn) {
    start();
    a.onEnd = b.onEnd = [](ChannelHandlerContext& ctx) { ctx.watchReadCycles(false); };
    EXPECT_EQ(cycle(), all);
    EXPECT_EQ(cycle(), none);
    EXPECT_TRUE(channel.sink->wantsRead);
}

TEST_F(ReadWatch, R3_WithoutAutoReadAllAreCalled) {
    start();
    watch("a", false);
    watch("b", false);
    channel->setOption(ChannelOption::AUTO_READ, false);
    EXPECT_EQ(cycle(), (Events{"a:end", "b:end"}));
    EXPECT_FALSE(channel.sink->wantsRead);
    events.clear();
    channel->read();
    EXPECT_EQ(events, (Events{"b:read", "a:read"}));
    EXPECT_TRUE(channel.sink->wantsRead);
}

TEST_F(ReadWatch, R3_AutoReadSwitchedOffInACycleCallsAllAtItsEnd) {
    start();
    watch("a", false);
    watch("b", false);
    b.onRead = [](ChannelHandlerContext& ctx) { ctx.channel().setOption(ChannelOption::AUTO_READ, false); };
    EXPECT_EQ(cycle(), (Events{"a:end", "b:end"}));
    EXPECT_FALSE(channel.sink->wantsRead);
}

TEST_F(ReadWatch, ExplicitCallsReachAllHandlers) {
    start();
    watch("a", false);
    watch("b", false);
    channel->read();
    channel.pipeline().fireChannelReadComplete();
    EXPECT_EQ(events, (Events{"b:read", "a:read", "a:end", "b:end", "b:read", "a:read"}));
}

TEST_F(ReadWatch, AHandlerMayUnwatchInHandlerAddedBeforeRegistration) {
    struct Quiet final : ChannelDuplexHandler {
        void handlerAdded(ChannelHandlerContext& ctx) override { ctx.watchReadCycles(false); }
        void channelReadComplete(ChannelHandlerContext& ctx) override {
            ++calls;
            ctx.fireChannelReadComplete();
        }
        int calls = 0;
    };
    watch("a", false);
    watch("b", false);
    channel.pipeline().addLast<Quiet>();
    start();
    EXPECT_EQ(cycle(), none);
    EXPECT_EQ(channel.pipeline().get<Quiet>()->calls, 0);
}

TEST_F(ReadWatch, AHandlerThatHasNoSuchMethodDoesNotWatch) {
    start();
    watch("a", false);
    watch("b", false);
    channel.pipeline().context<TakesMessages>()->watchReadCycles(true);
    EXPECT_EQ(cycle(), none);
    channel.pipeline().context<TakesMessages>()->watchReadCycles(false);
    watch("b", true);
    EXPECT_EQ(cycle(), all);
}

TEST_F(ReadWatch, ARemovedWatcherCountsNoMore) {
    start();
    watch("a", false);
    EXPECT_EQ(cycle(), all);
    channel.pipeline().remove("b");
    EXPECT_EQ(cycle(), none);
    channel.pipeline().remove("a");
    add("c");
    EXPECT_EQ(cycle(), (Events{"c:end", "c:read"})) << "one that did not watch left nothing behind";
}

TEST_F(ReadWatch, AWatcherAddedInACycleReceivesItsEnd) {
    start();
    watch("a", false);
    watch("b", false);
    b.onRead = [this](ChannelHandlerContext& ctx) {
        if (!ctx.pipeline().context("c")) add("c");
    };
    EXPECT_EQ(cycle(), (Events{"a:end", "b:end", "c:end", "c:read", "b:read", "a:read"}));
}

TEST_F(ReadWatch, AWatcherReplacedByANonWatcherCountsNoMore) {
    start();
    watch("a", false);
    channel.pipeline().replace<TakesMessages>("b");
    EXPECT_EQ(cycle(), none);
}

TEST_F(ReadWatch, CallsOfARemovedContextAreNotCounted) {
    start();
    watch("a", false);
    b.onRead = [](ChannelHandlerContext& ctx) {
        ctx.pipeline().remove(ctx.handler());
        ctx.watchReadCycles(false);
        ctx.watchReadCycles(true);
    };
    EXPECT_EQ(cycle(), none);
    add("c");
    EXPECT_EQ(cycle(), (Events{"a:end", "c:end", "c:read", "a:read"}));
}

TEST_F(ReadWatch, HC2_HalfClosureReadsNoMoreWithOrWithoutWatchers) {
    channel->setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
    start();
    watch("a", false);
    watch("b", false);
    channel->onRead(Buffer::copyOf("x"));
    channel->onEof();
    EXPECT_EQ(events, none);
    EXPECT_FALSE(channel.sink->wantsRead);
    channel->onReadComplete();
    EXPECT_FALSE(channel.sink->wantsRead);
    EXPECT_FALSE(channel->closed());
}

TEST_F(ReadWatch, ACloseInsideACycleReadsNoMore) {
    start();
    watch("a", false);
    watch("b", false);
    b.onRead = [](ChannelHandlerContext& ctx) { ctx.close(); };
    channel->onRead(Buffer::copyOf("x"));
    const std::size_t told = channel.sink->count("wantRead 1");
    channel.run();
    EXPECT_EQ(events, none);
    EXPECT_EQ(channel.sink->count("wantRead 1"), told);
}

TEST(ReadWatchEmbedded, AnEmbeddedChannelSkipsNonWatchersToo) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Cycles>("a", events));
    events.clear();
    EXPECT_TRUE(channel.writeInbound(1));
    EXPECT_EQ(events, (Events{"a:end", "a:read"}));
    events.clear();
    channel.pipeline().context<Cycles>()->watchReadCycles(false);
    EXPECT_TRUE(channel.writeInbound(2));
    EXPECT_EQ(events, Events{});
    channel.channel().setOption(ChannelOption::AUTO_READ, false);
    channel.writeInbound(3);
    EXPECT_EQ(events, (Events{"a:end"}));
    EXPECT_EQ(channel.inboundSize(), 3u);
    channel.finishAndReleaseAll();
}

}  // namespace
}  // namespace weft
