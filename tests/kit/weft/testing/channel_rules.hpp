// The rules of Netty that a transport can break, checked on a whole connection of your SocketIoHandler. The tests of
// the pipeline check the details. Use it in one file of any GoogleTest program, in namespace weft::test:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, ChannelRules, ::testing::Values(onSockets(SocketsUnderTest{"Mine", [] {
//       return std::make_unique<MyIoHandler>(); }})), nameOfStage);
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/testing/connection_stage.hpp>
#include <weft/testing/recorder.hpp>

namespace weft::test {

// The events so far, in their order. Touched only on the loop.
struct ChannelStory {
    Events events;
    std::string bytes;

    bool has(const std::string& event) const { return std::find(events.begin(), events.end(), event) != events.end(); }
    std::size_t count(const std::string& event) const {
        return static_cast<std::size_t>(std::count(events.begin(), events.end(), event));
    }
};

// The last handler of the connection: records events and bytes.
class EventReader final : public Recorder {
  public:
    using Action = std::function<void(ChannelHandlerContext&)>;
    explicit EventReader(
        ChannelStory& story, std::string name = "", Action onRead = [](ChannelHandlerContext&) {})
        : Recorder(std::move(name), story.events), story_(story), onRead_(std::move(onRead)) {
        recordsOperations = false;
    }

    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        note("read");
        story_.bytes += message.get<Buffer>().view();
        onRead_(ctx);
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        note("exception " + describe(cause));
    }

  private:
    ChannelStory& story_;
    Action onRead_;
};

class ChannelRules : public ::testing::TestWithParam<RuleStage> {
  protected:
    void open(EventReader::Action onRead = [](ChannelHandlerContext&) {}) {
        stage->open([&](Channel& made) { made.pipeline().addLast<EventReader>(story, "", onRead); });
    }
    Channel& channel() { return stage->channel(); }
    void untilEvent(const std::string& event) {
        stage->until([&] { return story.has(event); });
    }
    // From the first channelActive on.
    Events events() {
        Events copy;
        stage->inLoop([&] { copy = story.events; });
        copy.erase(copy.begin(), std::find_if(copy.begin(), copy.end(),
                                              [](const std::string& event) { return event.ends_with("active"); }));
        return copy;
    }
    // A promise whose outcome is recorded in the story.
    ChannelPromise told(const std::string& what) {
        ChannelPromise promise = channel().newPromise();
        promise.addListener([this, what](const ChannelFuture& done) {
            story.events.push_back(what + (done.success() ? " ok" : " failed"));
        });
        return promise;
    }

    ChannelStory story;
    const std::unique_ptr<ConnectionStage> stage = GetParam().make();  // destroyed first: it still records events
};

// ---- reading ----

TEST_P(ChannelRules, R1_EveryReadIsFollowedByOneReadCompleteBeforeTheNextCycle) {
    open();
    for (const char* text : {"one ", "two ", "three"}) stage->send(text);
    stage->until([&] { return story.bytes == "one two three"; });
    const Events all = events();
    EXPECT_EQ(all.front(), "active");
    EXPECT_EQ(all.back(), "readComplete");
    for (std::size_t i = 1; i < all.size(); ++i) {
        EXPECT_TRUE(all[i] != "readComplete" || all[i - 1] == "read") << "a cycle of nothing";
    }
}

TEST_P(ChannelRules, R3_WithoutAutoReadNothingComesBeforeARead) {
    stage->open([&](Channel& made) {
        made.setOption(ChannelOption::AUTO_READ, false);
        made.pipeline().addLast<EventReader>(story);
    });
    stage->send("held");
    EXPECT_EQ(events(), (Events{"active"}));
    stage->inLoop([&] { channel().read(); });
    untilEvent("readComplete");
    stage->send("held, too");
    EXPECT_EQ(events(), (Events{"active", "read", "readComplete"}));
    stage->inLoop([&] { channel().read(); });
    stage->until([&] { return story.bytes == "heldheld, too"; });
}

TEST_P(ChannelRules, R3_AReadRequestedInsideChannelReadIsServedInTheNextCycle) {
    stage->open([&](Channel& made) {
        made.setOption(ChannelOption::AUTO_READ, false);
        made.pipeline().addLast<EventReader>(story, "", [](ChannelHandlerContext& ctx) { ctx.read(); });
    });
    stage->inLoop([&] { channel().read(); });
    stage->send("first");
    untilEvent("readComplete");
    stage->send("second");
    stage->until([&] { return story.bytes == "firstsecond"; });
}

TEST_P(ChannelRules, R3_AutoReadSwitchedOffInsideAReadHoldsBackLaterDataUntilItIsOnAgain) {
    open([](ChannelHandlerContext& ctx) { ctx.channel().setOption(ChannelOption::AUTO_READ, false); });
    stage->send("taken");
    untilEvent("readComplete");
    stage->send("kept");
    EXPECT_EQ(events(), (Events{"active", "read", "readComplete"}));
    stage->inLoop([&] { channel().setOption(ChannelOption::AUTO_READ, true); });
    stage->until([&] { return story.bytes == "takenkept"; });
}

TEST_P(ChannelRules, E6_AResetIsAnErrorAfterTheReadCompleteAndThenTheEnd) {
    open();
    stage->send("last");
    untilEvent("readComplete");
    stage->reset();
    untilEvent("removed");
    const Events all = events();
    ASSERT_EQ(all.size(), 7u) << testing::PrintToString(all);
    EXPECT_EQ(Events(all.begin(), all.begin() + 3), (Events{"active", "read", "readComplete"}));
    EXPECT_EQ(all[3].find("exception "), 0u) << all[3];
    EXPECT_EQ(Events(all.begin() + 4, all.end()), (Events{"inactive", "unregistered", "removed"}));
}

// ---- writing ----

TEST_P(ChannelRules, W1_AWriteLeavesAtItsFlushAndItsPromiseCompletesInOrder) {
    open();
    stage->inLoop([&] {
        channel().write(Buffer::copyOf("one "), told("first"));
        channel().write(Buffer::copyOf("two"), told("second"));
    });
    EXPECT_EQ(events(), (Events{"active"})) << "only queued";
    stage->inLoop([&] { channel().flush(); });
    EXPECT_EQ(stage->received(7), "one two");
    untilEvent("second ok");
    EXPECT_EQ(events(), (Events{"active", "first ok", "second ok"}));
}

TEST_P(ChannelRules, W3_W4_TheChannelTurnsUnwritableInsideTheWriteAndWritableAfterTheFlush) {
    open();
    const std::string large(100'000, 'x');
    stage->inLoop([&] {
        channel().write(Buffer::copyOf(large));
        story.events.push_back("written");
        channel().flush();
    });
    EXPECT_EQ(stage->received(large.size()), large);
    untilEvent("writable");
    EXPECT_EQ(events(), (Events{"active", "unwritable", "written", "writable"}));
}

TEST_P(ChannelRules, W7_FlushesOfATurnKeepTheirOrderOnTheWire) {
    open();
    std::string expected;
    stage->inLoop([&] {
        for (int i = 0; i < 50; ++i) {
            const std::string text = std::to_string(i) + std::string(static_cast<std::size_t>(i * 37 % 700), '.');
            expected += text;
            channel().writeAndFlush(Buffer::copyOf(text));
        }
    });
    EXPECT_EQ(stage->received(expected.size()), expected);
}

// ---- closing ----

TEST_P(ChannelRules, C2_ACloseCompletesTheCloseFutureThenItsPromiseThenFailsPendingWritesThenNotifiesHandlers) {
    open();
    stage->inLoop([&] {
        channel().closeFuture().addListener([&](const ChannelFuture&) { story.events.push_back("closeFuture"); });
        channel().write(Buffer::copyOf("unflushed"), told("write"));
        channel().close(told("close"));
    });
    untilEvent("removed");
    EXPECT_EQ(events(),
              (Events{"active", "closeFuture", "close ok", "write failed", "inactive", "unregistered", "removed"}));
    EXPECT_TRUE(stage->peerSeesEnd());
}

TEST_P(ChannelRules, C4_AWriteAfterACloseFails) {
    open();
    stage->inLoop([&] { channel().close(); });
    untilEvent("removed");
    stage->inLoop([&] { channel().writeAndFlush(Buffer::copyOf("late"), told("write")); });
    EXPECT_EQ(events().back(), "write failed");
    EXPECT_TRUE(stage->peerSeesEnd());
}

TEST_P(ChannelRules, C5_ACloseSendsWhatWasFlushedAndNothingElse) {
    open();
    stage->inLoop([&] {
        channel().writeAndFlush(Buffer::copyOf("kept"));
        channel().write(Buffer::copyOf("lost"));
        channel().close();
    });
    EXPECT_EQ(stage->received(4), "kept");
    EXPECT_TRUE(stage->peerSeesEnd());
}

TEST_P(ChannelRules, S5_ACloseInsideAReadDoesNotNestInactive) {
    open([&](ChannelHandlerContext& ctx) {
        ctx.close();
        story.events.push_back("returned");
    });
    stage->send("x");
    untilEvent("removed");
    EXPECT_EQ(events(), (Events{"active", "read", "returned", "readComplete", "inactive", "unregistered", "removed"}));
}

TEST_P(ChannelRules, H8_TheHandlersOfAClosedConnectionLeaveFromTailToHead) {
    stage->open([&](Channel& made) {
        made.pipeline().addLast<EventReader>(story, "a");
        made.pipeline().addLast<EventReader>(story, "b");
    });
    stage->endInput();
    untilEvent("a:removed");
    const Events all = events();
    EXPECT_EQ(Events(all.end() - 4, all.end()), (Events{"a:unregistered", "b:unregistered", "b:removed", "a:removed"}));
}

// ---- half-close ----

TEST_P(ChannelRules, HC1_ThePeersEndClosesTheChannelAfterItsLastBytes) {
    open();
    stage->send("bye");
    stage->endInput();
    untilEvent("removed");
    const Events all = events();
    EXPECT_EQ(story.bytes, "bye");
    EXPECT_EQ(Events(all.end() - 4, all.end()), (Events{"readComplete", "inactive", "unregistered", "removed"}));
    EXPECT_TRUE(stage->peerSeesEnd());
}

TEST_P(ChannelRules, HC2_WithHalfClosureAllowedThePeersEndIsAnEventAndTheAnswerIsStillSent) {
    stage->open([&](Channel& made) {
        made.setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
        made.pipeline().addLast<EventReader>(story);
    });
    stage->send("question");
    stage->endInput();
    untilEvent("event weft::InputShutdownEvent");
    stage->inLoop([&] { channel().writeAndFlush(Buffer::copyOf("answer"), told("answer")); });
    EXPECT_EQ(stage->received(6), "answer");
    untilEvent("answer ok");
    EXPECT_FALSE(story.has("inactive"));
    EXPECT_EQ(story.count("event weft::InputShutdownEvent"), 1u);
}

TEST_P(ChannelRules, HC3_ShutdownOutputEndsThePeersInputAndReadingGoesOn) {
    open();
    stage->inLoop([&] {
        channel().writeAndFlush(Buffer::copyOf("last"));
        channel().write(Buffer::copyOf("too late"), told("write"));
        channel().shutdownOutput();
    });
    EXPECT_EQ(stage->received(4), "last");
    EXPECT_TRUE(stage->peerSeesEnd());
    stage->send("still here");
    stage->until([&] { return story.bytes == "still here"; });
    EXPECT_EQ(events(), (Events{"active", "write failed", "event weft::OutputShutdownEvent", "read", "readComplete"}));
}

// ---- handlers ----

TEST_P(ChannelRules, E1_AHandlersExceptionReachesItsOwnExceptionCaughtAndTheConnectionLives) {
    open([&](ChannelHandlerContext&) {
        if (story.bytes == "bad") throw std::runtime_error("unreadable");
    });
    stage->send("bad");
    untilEvent("exception unreadable");
    stage->send(", good");
    stage->until([&] { return story.bytes == "bad, good"; });
    EXPECT_FALSE(story.has("inactive"));
}

TEST_P(ChannelRules, E2_AnOutboundExceptionFailsItsPromiseAndTheConnectionLives) {
    struct Picky final : ChannelOutboundHandler {
        void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
            if (message.get<Buffer>().view() == "bad") throw std::runtime_error("unwritable");
            ctx.write(std::move(message), std::move(promise));
        }
    };
    stage->open([&](Channel& made) {
        made.pipeline().addLast<Picky>();
        made.pipeline().addLast<EventReader>(story);
    });
    stage->inLoop([&] {
        channel().writeAndFlush(Buffer::copyOf("bad"), told("bad"));
        channel().writeAndFlush(Buffer::copyOf("good"), told("good"));
    });
    EXPECT_EQ(stage->received(4), "good");
    untilEvent("good ok");
    EXPECT_EQ(events(), (Events{"active", "bad failed", "good ok"}));
}

TEST_P(ChannelRules, P1_AUserEventVisitsTheHandlersInTheirOrder) {
    stage->open([&](Channel& made) {
        made.pipeline().addLast<EventReader>(story, "a");
        made.pipeline().addLast<EventReader>(story, "b");
    });
    channel().pipeline().fireUserEventTriggered(Message(1));  // from the test's thread, which may not be the loop's
    untilEvent("b:event int");
    EXPECT_EQ(events(), (Events{"a:active", "b:active", "a:event int", "b:event int"}));
}

TEST_P(ChannelRules, H7_DataThatAReplacedHandlerHoldsIsDeliveredBeforeNewData) {
    struct Holds final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext&, Message&& message) override { held = std::move(message); }
        void handlerRemoved(ChannelHandlerContext& ctx) override { ctx.fireChannelRead(std::move(held)); }
        Message held;
    };
    stage->open([&](Channel& made) { made.pipeline().addLast<Holds>(); });
    stage->send("held, ");
    stage->until([&] { return !channel().pipeline().get<Holds>()->held.empty(); });
    stage->inLoop([&] {
        auto& pipeline = channel().pipeline();
        pipeline.replace<EventReader>(*pipeline.get<Holds>(), story);
    });
    stage->send("then new");
    stage->until([&] { return story.bytes == "held, then new"; });
}

}  // namespace weft::test
