// IdleStateHandler, ReadTimeoutHandler, WriteTimeoutHandler.
#include <weft/pipeline/handlers/idle_state_handler.hpp>

#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/handlers/read_timeout_handler.hpp>
#include <weft/pipeline/handlers/timeout_errors.hpp>
#include <weft/pipeline/handlers/write_timeout_handler.hpp>
#include <weft/scheduler/timer_wheel.hpp>
#include <weft/testing/recorder.hpp>

#include "../scripted_sink.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::Events;
using test::ScriptedChannel;

constexpr Duration tick = TimerWheel::tick;  // a timer may be late by this much

// The handler after the one under test: records events as "reader first", "all", ..., and errors by their text.
struct Watcher final : ChannelInboundHandler {
    explicit Watcher(Events& events) : events(events) {}
    void userEventTriggered(ChannelHandlerContext&, Message&& event) override {
        const auto& idle = event.get<IdleStateEvent>();
        const char* names[] = {"reader", "writer", "all"};
        events.push_back(names[static_cast<int>(idle.state)] + std::string(idle.first ? " first" : ""));
    }
    void channelInactive(ChannelHandlerContext&) override { events.push_back("inactive"); }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        events.push_back(describe(cause));
    }
    Events& events;
};

struct Embedded {
    Events events;
    EmbeddedChannel channel;
    template <class Handler, class... Args>
    explicit Embedded(std::in_place_type_t<Handler>, Args&&... args) {
        channel.pipeline().addLast<Handler>(std::forward<Args>(args)...);
        channel.pipeline().addLast<Watcher>(events);
    }
    Events after(Duration time) {
        events.clear();
        channel.advanceTimeBy(time + tick);
        return events;
    }
};

struct Idle : Embedded {
    explicit Idle(IdleStateOptions options) : Embedded(std::in_place_type<IdleStateHandler>, options) {}
};

// The kernel accepts as many bytes as the test allows.
struct Scripted {
    Events events;
    ScriptedChannel channel;
    template <class Handler, class... Args>
    explicit Scripted(std::in_place_type_t<Handler>, Args&&... args) {
        channel.pipeline().addLast<Handler>(std::forward<Args>(args)...);
        channel.pipeline().addLast<Watcher>(events);
        channel.start();
    }
    Events after(Duration time) {
        events.clear();
        channel.clock.advance(time + tick);
        channel.run();
        return events;
    }
    void write(std::size_t bytes, ChannelPromise promise = {}) {
        channel->writeAndFlush(Message(Buffer::copyOf(std::string(bytes, 'x'))), std::move(promise));
        channel.run();
    }
    void take(std::size_t bytes) {
        channel.sink->room = bytes;
        channel->onWritable();
        channel.run();
    }
};

TEST(IdleStateHandler, ReaderIdleFiresFirstThenAgainForEachFurtherPeriod) {
    Idle test({.reader = 10s});
    EXPECT_EQ(test.after(9s), Events{});
    EXPECT_EQ(test.after(1s), Events{"reader first"});
    EXPECT_EQ(test.after(10s), Events{"reader"});
    EXPECT_EQ(test.after(9s), Events{});
    EXPECT_EQ(test.after(1s), Events{"reader"});
}

TEST(IdleStateHandler, AReadRestartsThePeriodAndTheNextEventIsAFirstOne) {
    Idle test({.reader = 10s});
    test.after(10s);
    test.after(6s);
    test.channel.writeInbound(1);
    EXPECT_EQ(test.after(9s), Events{});
    EXPECT_EQ(test.after(1s), Events{"reader first"});
}

// The idle period starts at the end of the read cycle; during a cycle the connection is not idle.
TEST(IdleStateHandler, AReadCycleCountsFromItsEnd) {
    Idle test({.reader = 10s, .all = 10s});
    test.after(8s);
    test.channel.channel().onMessage(Message(1));
    EXPECT_EQ(test.after(30s), Events{}) << "still reading";
    test.channel.channel().onReadComplete();
    EXPECT_EQ(test.after(9s), Events{});
    EXPECT_EQ(test.after(1s), (Events{"reader first", "all first"}));
}

TEST(IdleStateHandler, WriterIdleIsResetByTheCompletionOfAWriteNotByItsBeginning) {
    Scripted test(std::in_place_type<IdleStateHandler>, IdleStateOptions{.writer = 10s});
    test.channel.sink->room = 0;
    EXPECT_EQ(test.after(8s), Events{});
    test.write(100);
    EXPECT_EQ(test.after(2s), Events{"writer first"}) << "begun, not completed";
    EXPECT_EQ(test.after(5s), Events{});
    test.take(100);
    EXPECT_EQ(test.after(9s), Events{});
    EXPECT_EQ(test.after(1s), Events{"writer first"});
    EXPECT_EQ(test.after(10s), Events{"writer"});
}

TEST(IdleStateHandler, AllIdleIsResetByReadsAndByWrites) {
    Idle test({.all = 10s});
    test.after(8s);
    test.channel.writeInbound(1);
    EXPECT_EQ(test.after(8s), Events{});
    test.channel.writeOutbound(1);
    EXPECT_EQ(test.after(8s), Events{});
    EXPECT_EQ(test.after(2s), Events{"all first"});
    EXPECT_EQ(test.after(10s), Events{"all"});
}

TEST(IdleStateHandler, ObserveOutputTakesSlowProgressForActivity) {
    for (const bool observe : {true, false}) {
        Scripted test(std::in_place_type<IdleStateHandler>,
                      IdleStateOptions{.writer = 10s, .all = 10s, .observeOutput = observe});
        test.channel.sink->room = 0;
        test.write(1000);
        test.take(100);
        const Events expected = observe ? Events{} : Events{"writer first", "all first"};
        EXPECT_EQ(test.after(10s), expected) << "the write is not complete, but bytes left";
        const Events stuck = observe ? Events{"writer first", "all first"} : Events{"writer", "all"};
        EXPECT_EQ(test.after(10s), stuck) << "nothing left";
    }
}

// Progress already counted by a completed write is not counted again.
TEST(IdleStateHandler, ObserveOutputDoesNotCountACompletedWriteTwice) {
    Scripted test(std::in_place_type<IdleStateHandler>, IdleStateOptions{.writer = 10s, .observeOutput = true});
    test.after(5s);
    test.write(100);
    EXPECT_EQ(test.after(10s), Events{"writer first"});
}

TEST(IdleStateHandler, NothingFiresOnceTheChannelIsInactiveOrTheHandlerGone) {
    Idle closed({.reader = 10s, .writer = 10s, .all = 10s});
    closed.channel.close();
    EXPECT_EQ(closed.after(30s), Events{});
    Idle removed({.reader = 10s, .writer = 10s, .all = 10s});
    removed.channel.pipeline().remove<IdleStateHandler>();
    EXPECT_EQ(removed.after(30s), Events{});
}

TEST(IdleStateHandler, ItStartsWhenTheChannelBecomesActiveAndStopsWhileItIsDeregistered) {
    Events events;
    ScriptedChannel channel(false);
    channel.pipeline().addLast<IdleStateHandler>(IdleStateOptions{.reader = 10s});
    channel.pipeline().addLast<Watcher>(events);
    channel.start();
    channel.clock.advance(30s + tick);
    channel.run();
    EXPECT_EQ(events, Events{}) << "not connected";
    channel->connect(SocketAddress::loopbackV4(1));
    channel.clock.advance(10s + tick);
    channel.run();
    EXPECT_EQ(events, Events{"reader first"});
    channel->deregister();
    channel.run();
    channel.clock.advance(30s + tick);
    channel.run();
    EXPECT_EQ(events.size(), 1u);
    channel->registerWithLoop({});
    channel.clock.advance(10s + tick);
    channel.run();
    EXPECT_EQ(events.size(), 2u);
}

TEST(IdleStateHandler, AHandlerThatClosesAndOneThatRemovesInTheEventAreFine) {
    struct Reacts final : ChannelInboundHandler {
        explicit Reacts(bool itCloses) : closes(itCloses) {}
        void userEventTriggered(ChannelHandlerContext& ctx, Message&&) override {
            ++events;
            if (closes) {
                ctx.close();
            } else {
                ctx.pipeline().remove<IdleStateHandler>();
            }
        }
        bool closes;
        int events = 0;
    };
    for (const bool closes : {true, false}) {
        auto reacts = std::make_unique<Reacts>(closes);
        Reacts& events = *reacts;
        EmbeddedChannel channel(std::make_unique<IdleStateHandler>(IdleStateOptions{.reader = 1s, .all = 1s}));
        channel.pipeline().addLast(std::move(reacts));
        channel.advanceTimeBy(1s + tick);
        if (!closes) {
            EXPECT_EQ(events.events, 1);
        }
        channel.advanceTimeBy(30s + tick);
        EXPECT_EQ(channel.channel().closed(), closes);
    }
}

TEST(IdleStateHandler, NegativePeriodsAreRefusedAndZeroIsOff) {
    EXPECT_THROW(IdleStateHandler({.writer = -1s}), std::invalid_argument);
    Idle off({});
    EXPECT_EQ(off.after(1h), Events{});
}

TEST(ReadTimeoutHandler, FiresItsExceptionAndClosesOnce) {
    Embedded test(std::in_place_type<ReadTimeoutHandler>, 10s);
    EXPECT_EQ(test.after(9s), Events{});
    test.channel.writeInbound(1);
    EXPECT_EQ(test.after(9s), Events{});
    const Events fired = test.after(1s);
    ASSERT_EQ(fired.size(), 2u);
    EXPECT_NE(fired[0].find("nothing was read for too long"), std::string::npos) << fired[0];
    EXPECT_EQ(fired[1], "inactive");
    EXPECT_TRUE(test.channel.channel().closed());
    EXPECT_EQ(test.after(30s), Events{});
}

TEST(ReadTimeoutHandler, AClosePromiseThatIsHeldBackDoesNotMakeItFireAgain) {
    struct KeepsOpen final : ChannelOutboundHandler {
        void close(ChannelHandlerContext& ctx, ChannelPromise promise) override {
            ++closes;
            if (!holding) ctx.close(std::move(promise));
        }
        int closes = 0;
        bool holding = true;
    };
    Events events;
    EmbeddedChannel channel;
    channel.pipeline().addLast<KeepsOpen>().addLast<ReadTimeoutHandler>(10s).addLast<Watcher>(events);
    channel.advanceTimeBy(10s + tick);
    channel.advanceTimeBy(10s + tick);
    EXPECT_EQ(events.size(), 1u);
    EXPECT_EQ(channel.pipeline().get<KeepsOpen>()->closes, 1);
    channel.pipeline().get<KeepsOpen>()->holding = false;
}

TEST(WriteTimeoutHandler, AWriteThatTheKernelDoesNotTakeEndsTheConnectionOnce) {
    Scripted test(std::in_place_type<WriteTimeoutHandler>, 10s);
    test.channel.sink->room = 50;
    ChannelPromise promise = test.channel->newPromise();
    test.write(100, promise);
    EXPECT_EQ(test.after(9s), Events{});
    const Events fired = test.after(1s);
    ASSERT_EQ(fired.size(), 2u);
    EXPECT_NE(fired[0].find("a write took too long"), std::string::npos) << fired[0];
    EXPECT_EQ(fired[1], "inactive");
    EXPECT_FALSE(promise.future().success());
}

TEST(WriteTimeoutHandler, EachWriteHasItsOwnTime) {
    Scripted test(std::in_place_type<WriteTimeoutHandler>, 10s);
    test.channel.sink->room = 0;
    test.write(100);
    test.after(6s);
    test.write(100);
    EXPECT_EQ(test.after(3s), Events{});
    test.take(100);  // completes the first write, 9 seconds after it began
    EXPECT_EQ(test.after(6s), Events{}) << "the second is 9 s old";
    EXPECT_EQ(test.after(1s).size(), 2u);
}

TEST(WriteTimeoutHandler, CompletedWritesAreForgotten) {
    Scripted test(std::in_place_type<WriteTimeoutHandler>, 10s);
    for (int i = 0; i < 100; ++i) test.write(10);
    EXPECT_EQ(test.after(30s), Events{});
    EXPECT_FALSE(test.channel->closed());
    test.channel.sink->room = 0;
    test.write(10);
    test.after(5s);
    test.channel.pipeline().remove<WriteTimeoutHandler>();
    EXPECT_EQ(test.after(30s), Events{}) << "removed";
}

TEST(WriteTimeoutHandler, AWriteThatIsNeverFlushedTimesOutToo) {
    Scripted test(std::in_place_type<WriteTimeoutHandler>, 10s);
    test.channel->write(Message(Buffer::copyOf("x")));
    EXPECT_EQ(test.after(10s).size(), 2u);
}

TEST(WriteTimeoutHandler, ZeroIsOffAndNegativeIsRefused) {
    Scripted test(std::in_place_type<WriteTimeoutHandler>, 0s);
    test.channel.sink->room = 0;
    test.write(10);
    EXPECT_EQ(test.after(1h), Events{});
    EXPECT_THROW(WriteTimeoutHandler(-1s), std::invalid_argument);
    EXPECT_THROW(ReadTimeoutHandler(-1s), std::invalid_argument);
}

}  // namespace
}  // namespace weft
