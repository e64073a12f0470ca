#include <weft/pipeline/channel_pipeline.hpp>

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>
#include <weft/testing/recorder.hpp>

namespace weft {
namespace {

using test::Events;
using test::Recorder;

struct Nothing final : ChannelInboundHandler {};

// ---- H: adding and removing ----

TEST(Pipeline, H1_HandlersWithoutANameGetTheirTypeAndANumber) {
    EmbeddedChannel channel;
    channel.pipeline().addLast<Nothing>().addLast<Nothing>();
    EXPECT_EQ(channel.pipeline().names(), (std::vector<std::string>{"Nothing#0", "Nothing#1"}));
    EXPECT_EQ(channel.pipeline().get("Nothing#1"), &channel.pipeline().context("Nothing#1")->handler());
    channel.pipeline().remove("Nothing#0");
    channel.pipeline().addLast(std::make_unique<Nothing>());
    EXPECT_EQ(channel.pipeline().names(), (std::vector<std::string>{"Nothing#1", "Nothing#0"}))
        << "the lowest free one";
}

TEST(Pipeline, H1_ADuplicateNameIsRefusedAndTheFirstStays) {
    EmbeddedChannel channel;
    channel.pipeline().addLast("same", std::make_unique<Nothing>());
    EXPECT_THROW(channel.pipeline().addLast("same", std::make_unique<Nothing>()), std::invalid_argument);
    EXPECT_THROW(channel.pipeline().addLast<Nothing>(named("same")), std::invalid_argument);
    EXPECT_EQ(channel.pipeline().names(), (std::vector<std::string>{"same"}));
}

TEST(Pipeline, H1_AddFirstOfSeveralKeepsTheirOrder) {
    Events events;
    EmbeddedChannel channel;
    channel.pipeline().addLast("last", std::make_unique<Nothing>());
    channel.pipeline().addFirst(std::make_unique<Recorder>("a", events), std::make_unique<Recorder>("b", events),
                                std::make_unique<Recorder>("c", events));
    events.clear();
    channel.writeInbound(1);
    EXPECT_EQ(events, (Events{"a:read", "b:read", "c:read", "a:readComplete", "b:readComplete", "c:readComplete"}));
}

TEST(Pipeline, H1_AddBeforeAndAfterPlaceNextToTheirBase) {
    EmbeddedChannel channel;
    channel.pipeline().addLast("base", std::make_unique<Nothing>());
    channel.pipeline().addBefore("base", "before", std::make_unique<Nothing>());
    channel.pipeline().addAfter<Nothing>("base", named("after"));
    EXPECT_EQ(channel.pipeline().names(), (std::vector<std::string>{"before", "base", "after"}));
}

TEST(Pipeline, H1_AMissingBaseOrTargetIsNoSuchElement) {
    EmbeddedChannel channel;
    EXPECT_THROW(channel.pipeline().addBefore("absent", "x", std::make_unique<Nothing>()), NoSuchElementException);
    EXPECT_THROW(channel.pipeline().remove("absent"), NoSuchElementException);
    EXPECT_THROW(channel.pipeline().remove<Nothing>(), NoSuchElementException);
    EXPECT_EQ(channel.pipeline().get<Nothing>(), nullptr);
}

struct Shared final : ChannelInboundHandler {
    static constexpr bool sharable = true;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        ++reads;
        ctx.fireChannelRead(std::move(message));
    }
    int reads = 0;
};

TEST(Pipeline, H1_ASharableHandlerMayBeInSeveralPipelines) {
    auto shared = std::make_shared<Shared>();
    EmbeddedChannel first(shared);
    EmbeddedChannel second(shared);
    second.pipeline().addLast(shared);
    first.writeInbound(1);
    second.writeInbound(1);
    EXPECT_EQ(shared->reads, 3);
}

// Fires an event to itself from inside handlerAdded().
struct EagerHandler final : ChannelInboundHandler {
    explicit EagerHandler(Events& events) : events_(events) {}
    void handlerAdded(ChannelHandlerContext& ctx) override {
        events_.push_back("added");
        ctx.pipeline().fireUserEventTriggered(Message(1));
    }
    void userEventTriggered(ChannelHandlerContext&, Message&&) override { events_.push_back("event"); }
    Events& events_;
};

TEST(Pipeline, H3_EventsFiredInsideHandlerAddedReachTheHandler) {
    Events events;
    EmbeddedChannel channel;
    channel.pipeline().addLast<EagerHandler>(events);
    EXPECT_EQ(events, (Events{"added", "event"}));
}

TEST(Pipeline, H3_HandlerAddedIsCalledOnceAndBeforeAnythingElse) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Recorder>("h", events));
    EXPECT_EQ(events, (Events{"h:added", "h:registered", "h:active"}));
}

struct FiresOnAdded final : ChannelInboundHandler {
    void handlerAdded(ChannelHandlerContext& ctx) override { ctx.fireChannelRead(Message(std::string("early"))); }
};

TEST(Pipeline, H2_EventsArriveOnlyInHandlersWhoseAddedCallHasBegun) {
    Events events;
    EmbeddedChannel channel(std::make_unique<FiresOnAdded>(), std::make_unique<Recorder>("pending", events));
    EXPECT_EQ(events.front(), "pending:added");
    EXPECT_EQ(std::count(events.begin(), events.end(), "pending:read"), 0);
    EXPECT_EQ(channel.readInbound<std::string>(), "early") << "forwarded, not dropped";
}

TEST(Pipeline, H4_BeforeRegistrationTheListIsEditedAtOnceAndTheCallbacksWait) {
    Events events;
    ManualClock clock;
    EventLoop loop(clock);
    ChannelRef channel = Channel::create(loop);
    channel->pipeline().addLast("a", std::make_unique<Recorder>("a", events));
    channel->pipeline().addLast("b", std::make_unique<Recorder>("b", events));
    channel->pipeline().addFirst("c", std::make_unique<Recorder>("c", events));
    channel->pipeline().remove("b");
    EXPECT_EQ(channel->pipeline().names(), (std::vector<std::string>{"c", "a"}));
    EXPECT_TRUE(events.empty());
}

TEST(Pipeline, H4_ThePendingCallbacksRunInTheOrderOfTheCalls) {
    Events events;
    EmbeddedChannel channel(
        [&](Channel& inner) {
            // An initializer runs together with the pending callbacks: handlerAdded() of what it adds runs at once.
            inner.pipeline().addLast(std::make_unique<Recorder>("inner", events));
        },
        std::make_unique<Recorder>("outer", events));
    EXPECT_EQ(events, (Events{"inner:added", "outer:added", "outer:registered", "inner:registered", "outer:active",
                              "inner:active"}));
}

struct ThrowsOnAdded final : ChannelInboundHandler {
    explicit ThrowsOnAdded(Events& events) : events_(events) {}
    void handlerAdded(ChannelHandlerContext&) override { throw std::runtime_error("no room"); }
    void handlerRemoved(ChannelHandlerContext&) override { events_.push_back("thrower:removed"); }
    Events& events_;
};

TEST(Pipeline, H5_AThrowingHandlerAddedRemovesTheHandlerAndFiresFromTheHead) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Recorder>("first", events));
    events.clear();
    channel.pipeline().addLast<ThrowsOnAdded>(events);
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0], "thrower:removed");
    EXPECT_NE(events[1].find("first:exception handlerAdded() of ThrowsOnAdded#0 threw no room"), std::string::npos);
    EXPECT_EQ(channel.pipeline().get<ThrowsOnAdded>(), nullptr);
    EXPECT_THROW(channel.checkException(), ChannelPipelineException);
}

TEST(Pipeline, H6_RemoveUnlinksFirstThenCallsHandlerRemoved) {
    struct Leaves final : ChannelInboundHandler {
        explicit Leaves(Events& events) : events_(events) {}
        void handlerRemoved(ChannelHandlerContext& ctx) override {
            events_.push_back(ctx.pipeline().get<Leaves>() ? "linked" : "unlinked");
            ctx.fireChannelRead(Message(std::string("leftover")));
        }
        Events& events_;
    };
    Events events;
    EmbeddedChannel channel;
    channel.pipeline().addLast<Leaves>(events).addLast(std::make_unique<Recorder>("next", events));
    events.clear();
    channel.pipeline().remove<Leaves>();
    EXPECT_EQ(events, (Events{"unlinked", "next:read"}));
    EXPECT_EQ(channel.readInbound<std::string>(), "leftover");
}

TEST(Pipeline, H6_AHandlerMayRemoveItselfInItsOwnCallbackAndStillForward) {
    struct Once final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            ctx.pipeline().remove(*this);
            text += "!";  // the handler stays alive until its callback returns
            ctx.fireChannelRead(std::move(message));
        }
        std::string text = std::string(100, 'x');
    };
    EmbeddedChannel channel(std::make_unique<Once>());
    channel.writeInbound(1, 2);
    EXPECT_EQ(channel.readInbound<int>(), 1);
    EXPECT_EQ(channel.readInbound<int>(), 2);
    EXPECT_TRUE(channel.pipeline().empty());
}

TEST(Pipeline, H6_ARemovedHandlerDiesWhenNothingRunsInItAnyMore) {
    Events events;
    EmbeddedChannel channel;
    auto recorder = std::make_unique<Recorder>("h", events);
    recorder->reportsDeath = true;
    channel.pipeline().addLast("h", std::move(recorder));
    channel.pipeline().remove("h");
    EXPECT_EQ(events, (Events{"h:added", "h:removed", "h:destroyed"}));
}

// A decoder in the middle of a protocol upgrade: it holds bytes that belong to its successor.
struct OldDecoder final : ChannelInboundHandler {
    void handlerRemoved(ChannelHandlerContext& ctx) override { ctx.fireChannelRead(Message(std::string("leftover"))); }
};

TEST(Pipeline, H7_ReplaceAddsTheNewBeforeItRemovesTheOldAndLeftoversFlowThroughTheNew) {
    Events events;
    EmbeddedChannel channel;
    channel.pipeline().addLast<OldDecoder>().addLast("after", std::make_unique<Recorder>("after", events));
    events.clear();
    channel.pipeline().replace<Recorder>(*channel.pipeline().get<OldDecoder>(), "new", events);
    EXPECT_EQ(events, (Events{"new:added", "new:read", "after:read"}));
    EXPECT_EQ(channel.pipeline().names().size(), 2u);
}

TEST(Pipeline, H8_AfterCloseAllHandlersAreRemovedFromTailToHead) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Recorder>("a", events), std::make_unique<Recorder>("b", events));
    events.clear();
    channel.close();
    EXPECT_EQ(events, (Events{"b:close", "a:close", "a:inactive", "b:inactive", "a:unregistered", "b:unregistered",
                              "b:removed", "a:removed"}));
}

TEST(Pipeline, H9_AnInitializersHandlersAreInPlaceBeforeRegisteredAndItLeaves) {
    Events events;
    EmbeddedChannel channel([&](Channel& inner) { inner.pipeline().addLast(std::make_unique<Recorder>("h", events)); });
    EXPECT_EQ(events, (Events{"h:added", "h:registered", "h:active"}));
    EXPECT_EQ(channel.pipeline().names(), (std::vector<std::string>{"Recorder#0"}));
}

TEST(Pipeline, H9_NestedInitializersKeepOrder) {
    EmbeddedChannel channel([](Channel& outer) {
        outer.pipeline().addLast("1", std::make_unique<Nothing>());
        outer.pipeline().addLast([](Channel& inner) { inner.pipeline().addLast("2", std::make_unique<Nothing>()); });
        outer.pipeline().addLast("3", std::make_unique<Nothing>());
    });
    EXPECT_EQ(channel.pipeline().names(), (std::vector<std::string>{"1", "2", "3"}));
}

TEST(Pipeline, H9_AThrowingInitializerClosesTheChannelAndLeaves) {
    EmbeddedChannel channel([](Channel&) { throw std::runtime_error("bad setup"); });
    EXPECT_TRUE(channel.channel().closed());
    EXPECT_TRUE(channel.pipeline().empty());
}

// ---- P: propagation ----

TEST(Pipeline, P1_InboundEventsGoHeadToTailAndOutboundTailToHead) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Recorder>("near", events), std::make_unique<Recorder>("far", events));
    events.clear();
    channel.writeInbound(1);
    channel.writeOutbound(2);
    EXPECT_EQ(events, (Events{"near:read", "far:read", "near:readComplete", "far:readComplete", "far:write",
                              "near:write", "far:flush", "near:flush"}));
}

TEST(Pipeline, P2_WriteFromTheMiddleSkipsHandlersNearerTheTail) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Recorder>("a", events), std::make_unique<Recorder>("b", events),
                            std::make_unique<Recorder>("c", events));
    const auto names = channel.pipeline().names();
    events.clear();
    channel.pipeline().context(names[1])->writeAndFlush(Message(1));
    EXPECT_EQ(events, (Events{"a:write", "a:flush"}));
}

TEST(Pipeline, P2_FireFromTheMiddleStartsAtTheNextHandler) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Recorder>("a", events), std::make_unique<Recorder>("b", events),
                            std::make_unique<Recorder>("c", events));
    events.clear();
    channel.pipeline().context(channel.pipeline().names()[1])->fireChannelRead(Message(1));
    EXPECT_EQ(events, (Events{"c:read"}));
}

TEST(Pipeline, P3_TheEventMaskHoldsExactlyWhatATypeOverrides) {
    using detail::Event;
    struct Reads : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext&, Message&&) override {}
    };
    struct ReadsToo : Reads {};
    class Hides final : public ChannelOutboundHandler {
        void write(ChannelHandlerContext&, Message&&, ChannelPromise) override {}
    };
    EXPECT_EQ(detail::eventMaskOf<Nothing>(), 0u);
    EXPECT_EQ(detail::eventMaskOf<Reads>(), detail::EventMask(Event::read));
    EXPECT_EQ(detail::eventMaskOf<ReadsToo>(), detail::EventMask(Event::read)) << "inherited overrides count";
    EXPECT_EQ(detail::eventMaskOf<Hides>(), detail::EventMask(Event::write)) << "private overrides count";
    EXPECT_EQ(detail::eventMaskOf<Recorder>(), detail::EventMask(Event::all));
}

TEST(Pipeline, P3_AnObjectOfADerivedClassGivenByItsBaseStillGetsItsEvents) {
    Events events;
    EmbeddedChannel channel;
    std::unique_ptr<ChannelHandler> base = std::make_unique<Recorder>("h", events);
    channel.pipeline().addLast(std::move(base));
    channel.writeInbound(1);
    EXPECT_EQ(events, (Events{"h:added", "h:read", "h:readComplete"}));
}

TEST(Pipeline, P3_AnOverrideThatDoesNotPassOnSwallowsTheEvent) {
    struct Swallows final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext&, Message&& message) override { message.reset(); }
    };
    EmbeddedChannel channel(std::make_unique<Swallows>());
    EXPECT_FALSE(channel.writeInbound(1));
}

TEST(Pipeline, P4_TheTailReleasesUnhandledMessages) {
    ManualClock clock;
    EventLoop loop(clock);
    ChannelRef channel = Channel::create(loop);
    auto life = std::make_shared<int>(1);
    channel->pipeline().fireChannelRead(Message(std::shared_ptr<int>(life)));
    channel->pipeline().fireUserEventTriggered(Message(std::shared_ptr<int>(life)));
    channel->pipeline().fireExceptionCaught(std::make_exception_ptr(std::runtime_error("for the log")));
    EXPECT_EQ(life.use_count(), 1);
}

TEST(Pipeline, P5_WriteAndFlushFlushesTheSameHandlerAlsoWhenItsWriteFailed) {
    struct FailsWrites final : ChannelOutboundHandler {
        explicit FailsWrites(Events& events) : events_(events) {}
        void write(ChannelHandlerContext&, Message&&, ChannelPromise) override { throw std::runtime_error("no"); }
        void flush(ChannelHandlerContext& ctx) override {
            events_.push_back("flush");
            ctx.flush();
        }
        Events& events_;
    };
    Events events;
    EmbeddedChannel channel;
    channel.pipeline().addLast<FailsWrites>(events);
    const ChannelPromise promise = channel.channel().newPromise();
    channel.channel().writeAndFlush(Message(1), promise);
    EXPECT_EQ(events, (Events{"flush"}));
    EXPECT_FALSE(promise.future().success());
}

TEST(Pipeline, P5_WriteAndFlushStopsAtAHandlerThatOnlyFlushes) {
    struct Flushes final : ChannelOutboundHandler {
        void flush(ChannelHandlerContext& ctx) override {
            ++flushes;
            ctx.flush();
        }
        int flushes = 0;
    };
    Events events;
    EmbeddedChannel channel(std::make_unique<Recorder>("near", events), std::make_unique<Flushes>());
    events.clear();
    channel.channel().writeAndFlush(Message(1));
    EXPECT_EQ(channel.pipeline().get<Flushes>()->flushes, 1);
    EXPECT_EQ(events, (Events{"near:write", "near:flush"})) << "its write passes on to the next";
}

TEST(Pipeline, P6_DisconnectOfAStreamPassesAsDisconnectAndCloses) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Recorder>("h", events));
    events.clear();
    channel.channel().disconnect();
    EXPECT_EQ(events, (Events{"h:disconnect"}));
    EXPECT_TRUE(channel.channel().closed());
}

TEST(SimpleInboundHandler, SeesExactlyItsTypeAndLetsTheRestPass) {
    struct Numbers final : SimpleInboundHandler<int> {
        void channelRead0(ChannelHandlerContext& ctx, int number) override { ctx.fireChannelRead(Message(number * 2)); }
    };
    EmbeddedChannel channel(std::make_unique<Numbers>());
    channel.writeInbound(21, std::string("text"), 1L);
    EXPECT_EQ(channel.readInbound<int>(), 42);
    EXPECT_EQ(channel.readInbound<std::string>(), "text");
    EXPECT_EQ(channel.readInbound<long>(), 1L);
}

}  // namespace
}  // namespace weft
