// Rules that sockets could bend, each over every stage: in memory, epoll with scripted system calls, epoll over
// loopback. The rules' details have their tests in tests/pipeline and in this room; here each must hold on a whole
// connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/pipeline/channel_events.hpp>

#include "transports/rule_stages.hpp"

namespace weft::test {
namespace {

using testing::ElementsAre;

// What has happened, in its order; touched on the loop only.
struct Story {
    std::vector<std::string> events;
    std::string bytes;

    bool has(const std::string& event) const { return std::find(events.begin(), events.end(), event) != events.end(); }
    std::size_t count(const std::string& event) const {
        return static_cast<std::size_t>(std::count(events.begin(), events.end(), event));
    }
};

// Writes down what it sees, and passes it on.
class Teller final : public ChannelInboundHandler {
  public:
    using Action = std::function<void(ChannelHandlerContext&)>;
    explicit Teller(
        Story& story, std::string name = "", Action onRead = [](ChannelHandlerContext&) {})
        : story_(story), name_(std::move(name)), onRead_(std::move(onRead)) {}

    void handlerRemoved(ChannelHandlerContext&) override { note("removed"); }
    void channelActive(ChannelHandlerContext& ctx) override {
        note("active");
        ctx.fireChannelActive();
    }
    void channelInactive(ChannelHandlerContext& ctx) override {
        note("inactive");
        ctx.fireChannelInactive();
    }
    void channelUnregistered(ChannelHandlerContext& ctx) override {
        note("unregistered");
        ctx.fireChannelUnregistered();
    }
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        note("read");
        story_.bytes += message.get<Buffer>().view();
        onRead_(ctx);
    }
    void channelReadComplete(ChannelHandlerContext& ctx) override {
        note("complete");
        ctx.fireChannelReadComplete();
    }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        note("event " + std::string(event.typeName()));
        ctx.fireUserEventTriggered(std::move(event));
    }
    void channelWritabilityChanged(ChannelHandlerContext& ctx) override {
        note(ctx.channel().isWritable() ? "writable" : "unwritable");
        ctx.fireChannelWritabilityChanged();
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        note("exception " + describe(cause));
    }

  private:
    void note(const std::string& event) { story_.events.push_back(name_.empty() ? event : name_ + ":" + event); }
    Story& story_;
    std::string name_;
    Action onRead_;
};

template <class Stage>
class Rules : public testing::Test {
  protected:
    void open(typename Teller::Action onRead = [](ChannelHandlerContext&) {}) {
        stage.open([&](Channel& made) { made.pipeline().template addLast<Teller>(story, "", onRead); });
    }
    Channel& channel() { return stage.channel(); }
    void untilEvent(const std::string& event) {
        stage.until([&] { return story.has(event); });
    }
    std::vector<std::string> events() {
        std::vector<std::string> copy;
        stage.inLoop([&] { copy = story.events; });
        return copy;
    }
    // A promise whose outcome becomes part of the story.
    ChannelPromise told(const std::string& what) {
        ChannelPromise promise = channel().newPromise();
        promise.addListener([this, what](const ChannelFuture& done) {
            story.events.push_back(what + (done.success() ? " ok" : " failed"));
        });
        return promise;
    }

    Story story;
    Stage stage;  // ends first: it still tells
};

using Stages = testing::Types<MemoryStage, ScriptedStage, LoopbackStage>;
TYPED_TEST_SUITE(Rules, Stages, StageNames);

// ---- reading ----

TYPED_TEST(Rules, R1_EveryReadIsFollowedByOneReadCompleteBeforeTheNextCycle) {
    this->open();
    for (const char* text : {"one ", "two ", "three"}) this->stage.send(text);
    this->stage.until([&] { return this->story.bytes == "one two three"; });
    const auto events = this->events();
    EXPECT_EQ(events.front(), "active");
    EXPECT_EQ(events.back(), "complete");
    for (std::size_t i = 1; i < events.size(); ++i) {
        EXPECT_TRUE(events[i] != "complete" || events[i - 1] == "read") << "a cycle of nothing";
    }
}

TYPED_TEST(Rules, R3_WithoutAutoReadNothingComesBeforeARead) {
    this->stage.open([&](Channel& made) {
        made.setOption(ChannelOption::AUTO_READ, false);
        made.pipeline().template addLast<Teller>(this->story);
    });
    this->stage.send("held");
    EXPECT_THAT(this->events(), ElementsAre("active"));
    this->stage.inLoop([&] { this->channel().read(); });
    this->untilEvent("complete");
    this->stage.send("held, too");
    EXPECT_THAT(this->events(), ElementsAre("active", "read", "complete"));
    this->stage.inLoop([&] { this->channel().read(); });
    this->stage.until([&] { return this->story.bytes == "heldheld, too"; });
}

TYPED_TEST(Rules, R3_AReadFromInsideADeliveryIsForTheNextCycle) {
    this->stage.open([&](Channel& made) {
        made.setOption(ChannelOption::AUTO_READ, false);
        made.pipeline().template addLast<Teller>(this->story, "", [](ChannelHandlerContext& ctx) { ctx.read(); });
    });
    this->stage.inLoop([&] { this->channel().read(); });
    this->stage.send("first");
    this->untilEvent("complete");
    this->stage.send("second");
    this->stage.until([&] { return this->story.bytes == "firstsecond"; });
}

TYPED_TEST(Rules, R3_AutoReadOffInsideAReadHoldsWhatComesNextAndOnAgainBringsIt) {
    this->open([](ChannelHandlerContext& ctx) { ctx.channel().setOption(ChannelOption::AUTO_READ, false); });
    this->stage.send("taken");
    this->untilEvent("complete");
    this->stage.send("kept");
    EXPECT_THAT(this->events(), ElementsAre("active", "read", "complete"));
    this->stage.inLoop([&] { this->channel().setOption(ChannelOption::AUTO_READ, true); });
    this->stage.until([&] { return this->story.bytes == "takenkept"; });
}

TYPED_TEST(Rules, E6_AResetIsAnErrorAfterTheReadCompleteAndThenTheEnd) {
    this->open();
    this->stage.send("last");
    this->untilEvent("complete");
    this->stage.reset();
    this->untilEvent("removed");
    const auto events = this->events();
    ASSERT_EQ(events.size(), 7u) << testing::PrintToString(events);
    EXPECT_THAT(std::vector(events.begin(), events.begin() + 3), ElementsAre("active", "read", "complete"));
    EXPECT_EQ(events[3].find("exception "), 0u) << events[3];
    EXPECT_THAT(std::vector(events.begin() + 4, events.end()), ElementsAre("inactive", "unregistered", "removed"));
}

// ---- writing ----

TYPED_TEST(Rules, W1_AWriteLeavesAtItsFlushAndItsPromiseCompletesInOrder) {
    this->open();
    this->stage.inLoop([&] {
        this->channel().write(Buffer::copyOf("one "), this->told("first"));
        this->channel().write(Buffer::copyOf("two"), this->told("second"));
    });
    EXPECT_THAT(this->events(), ElementsAre("active")) << "only queued";
    this->stage.inLoop([&] { this->channel().flush(); });
    EXPECT_EQ(this->stage.received(7), "one two");
    this->untilEvent("second ok");
    EXPECT_THAT(this->events(), ElementsAre("active", "first ok", "second ok"));
}

TYPED_TEST(Rules, W3_W4_TooManyPendingBytesAreToldInsideTheWriteAndTheirEndAfterTheFlush) {
    this->open();
    const std::string large(100'000, 'x');
    this->stage.inLoop([&] {
        this->channel().write(Buffer::copyOf(large));
        this->story.events.push_back("written");
        this->channel().flush();
    });
    EXPECT_EQ(this->stage.received(large.size()), large);
    this->untilEvent("writable");
    EXPECT_THAT(this->events(), ElementsAre("active", "unwritable", "written", "writable"));
}

TYPED_TEST(Rules, W7_FlushesOfATurnKeepTheirOrderOnTheWire) {
    this->open();
    std::string expected;
    this->stage.inLoop([&] {
        for (int i = 0; i < 50; ++i) {
            const std::string text = std::to_string(i) + std::string(static_cast<std::size_t>(i * 37 % 700), '.');
            expected += text;
            this->channel().writeAndFlush(Buffer::copyOf(text));
        }
    });
    EXPECT_EQ(this->stage.received(expected.size()), expected);
}

// ---- closing ----

TYPED_TEST(Rules, C2_ACloseTellsItsFutureThenItsPromiseThenFailsWhatWaitsThenTheHandlers) {
    this->open();
    this->stage.inLoop([&] {
        this->channel().closeFuture().addListener(
            [&](const ChannelFuture&) { this->story.events.push_back("closeFuture"); });
        this->channel().write(Buffer::copyOf("unflushed"), this->told("write"));
        this->channel().close(this->told("close"));
    });
    this->untilEvent("removed");
    EXPECT_THAT(this->events(), ElementsAre("active", "closeFuture", "close ok", "write failed", "inactive",
                                            "unregistered", "removed"));
    EXPECT_TRUE(this->stage.peerSeesEnd());
}

TYPED_TEST(Rules, C4_AWriteBehindACloseFails) {
    this->open();
    this->stage.inLoop([&] { this->channel().close(); });
    this->untilEvent("removed");
    this->stage.inLoop([&] { this->channel().writeAndFlush(Buffer::copyOf("late"), this->told("write")); });
    EXPECT_EQ(this->events().back(), "write failed");
    EXPECT_TRUE(this->stage.peerSeesEnd());
}

TYPED_TEST(Rules, C5_ACloseSendsWhatWasFlushedAndNothingElse) {
    this->open();
    this->stage.inLoop([&] {
        this->channel().writeAndFlush(Buffer::copyOf("kept"));
        this->channel().write(Buffer::copyOf("lost"));
        this->channel().close();
    });
    EXPECT_EQ(this->stage.received(4), "kept");
    EXPECT_TRUE(this->stage.peerSeesEnd());
}

TYPED_TEST(Rules, S5_ACloseInsideAReadDoesNotNestInactive) {
    this->open([&](ChannelHandlerContext& ctx) {
        ctx.close();
        this->story.events.push_back("returned");
    });
    this->stage.send("x");
    this->untilEvent("removed");
    EXPECT_THAT(this->events(),
                ElementsAre("active", "read", "returned", "complete", "inactive", "unregistered", "removed"));
}

TYPED_TEST(Rules, H8_TheHandlersOfAClosedConnectionLeaveFromTailToHead) {
    this->stage.open([&](Channel& made) {
        made.pipeline().template addLast<Teller>(this->story, "a");
        made.pipeline().template addLast<Teller>(this->story, "b");
    });
    this->stage.endInput();
    this->untilEvent("a:removed");
    const auto events = this->events();
    EXPECT_THAT(std::vector(events.end() - 4, events.end()),
                ElementsAre("a:unregistered", "b:unregistered", "b:removed", "a:removed"));
}

// ---- half-close ----

TYPED_TEST(Rules, HC1_ThePeersEndClosesTheChannelBehindItsLastBytes) {
    this->open();
    this->stage.send("bye");
    this->stage.endInput();
    this->untilEvent("removed");
    const auto events = this->events();
    EXPECT_EQ(this->story.bytes, "bye");
    EXPECT_THAT(std::vector(events.end() - 4, events.end()),
                ElementsAre("complete", "inactive", "unregistered", "removed"));
    EXPECT_TRUE(this->stage.peerSeesEnd());
}

TYPED_TEST(Rules, HC2_WithTheOptionThePeersEndIsAnEventAndTheAnswerStillGoesOut) {
    this->stage.open([&](Channel& made) {
        made.setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
        made.pipeline().template addLast<Teller>(this->story);
    });
    this->stage.send("question");
    this->stage.endInput();
    this->untilEvent("event weft::InputShutdownEvent");
    this->stage.inLoop([&] { this->channel().writeAndFlush(Buffer::copyOf("answer"), this->told("answer")); });
    EXPECT_EQ(this->stage.received(6), "answer");
    this->untilEvent("answer ok");
    EXPECT_FALSE(this->story.has("inactive"));
    EXPECT_EQ(this->story.count("event weft::InputShutdownEvent"), 1u);
}

TYPED_TEST(Rules, HC3_ShutdownOutputEndsThePeersInputAndReadingGoesOn) {
    this->open();
    this->stage.inLoop([&] {
        this->channel().writeAndFlush(Buffer::copyOf("last"));
        this->channel().write(Buffer::copyOf("too late"), this->told("write"));
        this->channel().shutdownOutput();
    });
    EXPECT_EQ(this->stage.received(4), "last");
    EXPECT_TRUE(this->stage.peerSeesEnd());
    this->stage.send("still here");
    this->stage.until([&] { return this->story.bytes == "still here"; });
    EXPECT_THAT(this->events(),
                ElementsAre("active", "write failed", "event weft::OutputShutdownEvent", "read", "complete"));
}

// ---- handlers ----

TYPED_TEST(Rules, E1_AHandlersExceptionComesToItselfAndTheConnectionLives) {
    this->open([&](ChannelHandlerContext&) {
        if (this->story.bytes == "bad") throw std::runtime_error("unreadable");
    });
    this->stage.send("bad");
    this->untilEvent("exception unreadable");
    this->stage.send(", good");
    this->stage.until([&] { return this->story.bytes == "bad, good"; });
    EXPECT_FALSE(this->story.has("inactive"));
}

TYPED_TEST(Rules, E2_AnOutboundExceptionFailsItsPromiseAndTheConnectionLives) {
    struct Picky final : ChannelOutboundHandler {
        void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
            if (message.get<Buffer>().view() == "bad") throw std::runtime_error("unwritable");
            ctx.write(std::move(message), std::move(promise));
        }
    };
    this->stage.open([&](Channel& made) {
        made.pipeline().template addLast<Picky>();
        made.pipeline().template addLast<Teller>(this->story);
    });
    this->stage.inLoop([&] {
        this->channel().writeAndFlush(Buffer::copyOf("bad"), this->told("bad"));
        this->channel().writeAndFlush(Buffer::copyOf("good"), this->told("good"));
    });
    EXPECT_EQ(this->stage.received(4), "good");
    this->untilEvent("good ok");
    EXPECT_THAT(this->events(), ElementsAre("active", "bad failed", "good ok"));
}

TYPED_TEST(Rules, P1_AUserEventVisitsTheHandlersInTheirOrder) {
    this->stage.open([&](Channel& made) {
        made.pipeline().template addLast<Teller>(this->story, "a");
        made.pipeline().template addLast<Teller>(this->story, "b");
    });
    this->channel().pipeline().fireUserEventTriggered(Message(1));  // from the test's thread, where that is another
    this->untilEvent("b:event int");
    EXPECT_THAT(this->events(), ElementsAre("a:active", "b:active", "a:event int", "b:event int"));
}

TYPED_TEST(Rules, H7_WhatAReplacedHandlerHoldsComesBeforeWhatThePeerSendsNext) {
    struct Holds final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext&, Message&& message) override { held = std::move(message); }
        void handlerRemoved(ChannelHandlerContext& ctx) override { ctx.fireChannelRead(std::move(held)); }
        Message held;
    };
    this->stage.open([&](Channel& made) { made.pipeline().template addLast<Holds>(); });
    this->stage.send("held, ");
    this->stage.until([&] { return !this->channel().pipeline().template get<Holds>()->held.empty(); });
    this->stage.inLoop([&] {
        auto& pipeline = this->channel().pipeline();
        pipeline.template replace<Teller>(*pipeline.template get<Holds>(), this->story);
    });
    this->stage.send("then new");
    this->stage.until([&] { return this->story.bytes == "held, then new"; });
}

}  // namespace
}  // namespace weft::test
