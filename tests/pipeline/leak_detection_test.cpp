// Leak detection: which handler dropped a message without looking at it, and which handler still holds one.
#include <weft/pipeline/leak_detection.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/codec/length_field_prepender.hpp>
#include <weft/pipeline/codec/line_based_frame_decoder.hpp>
#include <weft/pipeline/codec/string_codec.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/handlers/flow_control_handler.hpp>
#include <weft/pipeline/handlers/logging_handler.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>

#include "scripted_sink.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

#if WEFT_LEAK_DETECTION

using test::LogCapture;
using test::ScriptedChannel;

constexpr const char* dropped = "without reading it";
constexpr const char* remedy = "to drop it on purpose, call message.reset()";

// `n` makes distinct types for each test, because each pair of types is reported once per process.
template <int>
struct Letter {
    std::string text;
};

template <int>
class Reads final : public ChannelInboundHandler {
  public:
    using Action = std::function<void(ChannelHandlerContext&, Message&&)>;
    explicit Reads(Action action) : action_(std::move(action)) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override { action_(ctx, std::move(message)); }

  private:
    Action action_;
};

template <int>
class Writes final : public ChannelOutboundHandler {
  public:
    using Action = std::function<void(ChannelHandlerContext&, Message&&, ChannelPromise)>;
    explicit Writes(Action action) : action_(std::move(action)) {}
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
        action_(ctx, std::move(message), std::move(promise));
    }

  private:
    Action action_;
};

class LeakDetectionTest : public testing::Test {
  protected:
    ~LeakDetectionTest() override { setLeakDetection(before); }

    std::uint64_t drops() const { return droppedMessages() - droppedBefore; }
    std::string channelOf(EmbeddedChannel& channel) { return "of channel " + std::to_string(channel.channel().id()); }

    const LeakDetection before = leakDetection();
    const std::uint64_t droppedBefore = droppedMessages();
    LogCapture log;
};

// ---- dropped unseen ----

TEST_F(LeakDetectionTest, RC2_AHandlerThatDropsWhatItDoesNotKnowIsNamedWithItsChannelAndTheRemedy) {
    EmbeddedChannel channel;
    channel.pipeline().addLast<Reads<1>>(named("gate"), [](ChannelHandlerContext& ctx, Message&& message) {
        if (message.is<Letter<1>>()) ctx.fireChannelRead(std::move(message));
    });
    channel.writeInbound(Letter<1>{"passes"});
    EXPECT_EQ(drops(), 0u);
    channel.writeInbound(Buffer::copyOf("seven b"));
    EXPECT_EQ(drops(), 1u);
    EXPECT_EQ(log.count("handler 'gate' (weft::", "Reads<1>)", channelOf(channel),
                        "dropped an inbound weft::Buffer of 7 bytes", dropped,
                        "ctx.fireChannelRead(std::move(message))", remedy),
              1)
        << log.text();
}

TEST_F(LeakDetectionTest, RC2_MovedIntoALocalThatDiesItIsDroppedToo) {
    EmbeddedChannel channel;
    channel.pipeline().addLast<Reads<2>>([](ChannelHandlerContext&, Message&& message) {
        Message first = std::move(message);
        Message second = std::move(first);
        if (second.getIf<int>()) second.reset();
    });
    channel.writeInbound(Letter<2>{"lost"});
    EXPECT_EQ(drops(), 1u);
    EXPECT_EQ(log.count("'Reads#0'", "Letter<2>", dropped), 1) << log.text();
}

TEST_F(LeakDetectionTest, TheSameFaultIsToldOnceAndAlwaysCounted) {
    for (int connection = 0; connection < 3; ++connection) {
        EmbeddedChannel channel;
        channel.pipeline().addLast<Reads<3>>([](ChannelHandlerContext&, Message&&) {});
        channel.writeInbound(Letter<3>{"a"}, Letter<3>{"b"});
    }
    EXPECT_EQ(drops(), 6u);
    EXPECT_EQ(log.count(dropped), 1) << log.text();
}

TEST_F(LeakDetectionTest, AnOutboundMessageThatDiesWithItsPromiseIsNamedWithTheWaiter) {
    EmbeddedChannel channel;
    channel.pipeline().addLast<Writes<4>>(named("gate"), [](ChannelHandlerContext&, Message&&, ChannelPromise) {});
    const ChannelPromise promise = channel.channel().newPromise();
    channel.channel().write(Message(Letter<4>{"lost"}), promise);
    EXPECT_EQ(drops(), 1u);
    EXPECT_EQ(log.count("handler 'gate' (", "Writes<4>)", channelOf(channel), "dropped an outbound", "Letter<4>",
                        dropped, "its promise stays pending, so code that waits for the write waits forever",
                        "ctx.write(std::move(message), std::move(promise))"),
              1)
        << log.text();
}

TEST_F(LeakDetectionTest, AnAnswerThroughThePromiseIsNoDropAndWithoutAPromiseNobodyWaits) {
    EmbeddedChannel channel;
    channel.pipeline().addLast<Writes<5>>([](ChannelHandlerContext&, Message&&, ChannelPromise promise) {
        promise.tryFailure(std::make_exception_ptr(std::runtime_error("not now")));
    });
    channel.channel().write(Message(5), channel.channel().newPromise());
    EXPECT_EQ(drops(), 0u);
    channel.channel().write(Message(Letter<5>{"void"}));
    EXPECT_EQ(log.count(dropped), 1) << log.text();
    EXPECT_EQ(log.count("waits forever"), 0) << log.text();
}

// ---- not dropped ----

TEST_F(LeakDetectionTest, MessagesReadTakenPassedOnKeptOrResetAreNotReported) {
    std::deque<Message> kept;
    const Reads<6>::Action actions[] = {
        [](ChannelHandlerContext&, Message&& message) { EXPECT_EQ(message.get<Letter<6>>().text, "text"); },
        [](ChannelHandlerContext&, Message&& message) { EXPECT_NE(message.getIf<Letter<6>>(), nullptr); },
        [](ChannelHandlerContext&, Message&& message) { EXPECT_EQ(message.take<Letter<6>>().text, "text"); },
        [](ChannelHandlerContext&, Message&& message) { EXPECT_TRUE(message.is<Letter<6>>()); },
        [](ChannelHandlerContext&, Message&& message) { message.reset(); },
        [](ChannelHandlerContext& ctx, Message&& message) { ctx.fireChannelRead(std::move(message)); },
        [](ChannelHandlerContext& ctx, Message&& message) { ctx.writeAndFlush(std::move(message)); },
        [](ChannelHandlerContext& ctx, Message&& message) {
            const Message later = std::move(message);
            ctx.fireChannelRead(Message(later.get<Letter<6>>().text.size()));
        },
        [&kept](ChannelHandlerContext&, Message&& message) { kept.push_back(std::move(message)); },
    };
    for (const Reads<6>::Action& action : actions) {
        EmbeddedChannel channel;
        channel.pipeline().addLast<Reads<6>>(action);
        channel.writeInbound(Letter<6>{"text"});
        channel.finishAndReleaseAll();
    }
    EXPECT_EQ(kept.size(), 1u);
    EXPECT_EQ(drops(), 0u) << log.text();
}

TEST_F(LeakDetectionTest, AHandlerThatThrowsIsReportedByItsExceptionOnly) {
    EmbeddedChannel channel;
    channel.pipeline().addLast<Reads<7>>([](ChannelHandlerContext&, Message&&) { throw std::runtime_error("no"); });
    EXPECT_THROW(channel.writeInbound(Letter<7>{"text"}), std::runtime_error);
    EXPECT_EQ(drops(), 0u) << log.text();
}

TEST_F(LeakDetectionTest, CodecsAndStockHandlersDropNothingUnseen) {
    setLeakDetection(LeakDetection::paranoid);
    std::uint64_t id = 0;
    {
        EmbeddedChannel channel(std::make_unique<LoggingHandler>(), std::make_unique<FlowControlHandler>(),
                                std::make_unique<LineBasedFrameDecoder>(100),
                                std::make_unique<LengthFieldPrepender>(LengthPrependOptions{}),
                                std::make_unique<StringDecoder>(), std::make_unique<StringEncoder>());
        id = channel.channel().id();
        channel.writeInbound(Buffer::copyOf("one\ntwo\nunfini"));
        channel.writeOutbound(std::string("answer"));
        EXPECT_EQ(channel.inboundSize(), 2u);
        channel.finishAndReleaseAll();
    }
    EXPECT_EQ(drops(), 0u) << log.text();
    EXPECT_EQ(log.count("its handlers were removed"), 0) << log.text();
    for (const HeldByHandler& held : heldByHandlers()) EXPECT_NE(held.channel, id) << describeHeld();
}

TEST_F(LeakDetectionTest, NothingIsTrackedWhenSwitchedOff) {
    setLeakDetection(LeakDetection::off);
    EmbeddedChannel channel;
    channel.pipeline().addLast<Reads<8>>([](ChannelHandlerContext&, Message&&) {});
    channel.writeInbound(Letter<8>{"text"});
    EXPECT_EQ(drops(), 0u);
    EXPECT_EQ(log.count(dropped), 0);
}

// ---- kept ----

template <int n>
class Keeps final : public ChannelDuplexHandler {
  public:
    explicit Keeps(std::deque<Message>& messages, ChannelPromise* promise = nullptr)
        : messages_(messages), promise_(promise) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override { messages_.push_back(std::move(message)); }
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
        if (promise_) *promise_ = promise;
        ctx.write(Message(message.take<Letter<n>>().text.size()));  // the fault: without the promise
    }

  private:
    std::deque<Message>& messages_;
    ChannelPromise* promise_;
};

std::optional<HeldByHandler> heldIn(std::uint64_t channel) {
    for (const HeldByHandler& held : heldByHandlers()) {
        if (held.channel == channel) return held;
    }
    return std::nullopt;
}

TEST_F(LeakDetectionTest, WhatAHandlerKeepsIsCountedWithItsBytesUntilItLetsGo) {
    setLeakDetection(LeakDetection::paranoid);
    std::deque<Message> messages;
    ScriptedChannel channel;
    channel.pipeline().addLast<Keeps<9>>(named("queue"), messages);
    channel.start();
    channel.deliver({"one", "two"});
    channel->onMessage(Message(Letter<9>{"three"}));
    const auto held = heldIn(channel->id());
    ASSERT_TRUE(held);
    EXPECT_EQ(held->handler, "'queue' (weft::(anonymous namespace)::Keeps<9>)");
    EXPECT_EQ(held->messages, 3u);
    EXPECT_EQ(held->buffers, 2u);
    EXPECT_EQ(held->bufferBytes, 2 * messages.front().get<Buffer>().capacity());
    EXPECT_NE(describeHeld().find("3 messages, 2 buffers of 512 bytes, last seen in handler 'queue' ("),
              std::string::npos)
        << describeHeld();
    messages.pop_front();
    EXPECT_EQ(heldIn(channel->id())->messages, 2u);
    EXPECT_EQ(heldIn(channel->id())->buffers, 1u);
    messages.clear();
    EXPECT_FALSE(heldIn(channel->id()));
    EXPECT_EQ(drops(), 0u);
}

TEST_F(LeakDetectionTest, ABufferThatWasTakenOutIsStillCountedAtItsLastHandler) {
    setLeakDetection(LeakDetection::paranoid);
    Buffer taken;
    EmbeddedChannel channel;
    channel.pipeline().addLast<Reads<10>>(
        [&](ChannelHandlerContext&, Message&& message) { taken = message.take<Buffer>(); });
    channel.writeInbound(Buffer::copyOf("x"));
    const auto held = heldIn(channel.channel().id());
    ASSERT_TRUE(held);
    EXPECT_EQ(held->messages, 0u);
    EXPECT_EQ(held->buffers, 1u);
    taken = Buffer();
    EXPECT_FALSE(heldIn(channel.channel().id()));
}

TEST_F(LeakDetectionTest, AMessageThatOutlivesTheHandlersOfItsChannelIsNamedAtTheClose) {
    setLeakDetection(LeakDetection::paranoid);
    std::deque<Message> messages;
    std::string channelId;
    {
        ScriptedChannel channel;
        channelId = "of channel " + std::to_string(channel->id());
        channel.pipeline().addLast<Keeps<11>>(named("queue"), messages);
        channel.start();
        channel.deliver({"one"});
        EXPECT_EQ(log.count("its handlers were removed"), 0);
    }
    EXPECT_EQ(
        log.count(
            "a channel was closed and its handlers were removed, but these remain: 1 message, 1 buffer of 256 bytes",
            "last seen in handler 'queue' (", channelId, "release messages and complete promises in handlerRemoved()"),
        1)
        << log.text();
}

TEST_F(LeakDetectionTest, WhatDiesWithTheHandlerIsNotReportedAtTheClose) {
    setLeakDetection(LeakDetection::paranoid);
    struct Owns final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext&, Message&& message) override { queue_.push_back(std::move(message)); }
        std::deque<Message> queue_;
    };
    {
        ScriptedChannel channel;
        channel.pipeline().addLast<Owns>();
        channel.start();
        channel.deliver({"one", "two"});
        EXPECT_EQ(heldIn(channel->id())->messages, 2u);
    }
    EXPECT_EQ(log.count("its handlers were removed"), 0) << log.text();
}

TEST_F(LeakDetectionTest, ABufferThatTheApplicationTookAndKeepsIsNoWarning) {
    setLeakDetection(LeakDetection::paranoid);
    std::deque<Buffer> application;
    {
        ScriptedChannel channel;
        channel.pipeline().addLast<Reads<12>>(
            [&](ChannelHandlerContext&, Message&& message) { application.push_back(message.take<Buffer>()); });
        channel.start();
        channel.deliver({"one"});
    }
    EXPECT_EQ(log.count("these remain: 1 buffer of 256 bytes"), 1) << log.text();
    EXPECT_EQ(log.count("release messages"), 0) << log.text();
}

TEST_F(LeakDetectionTest, APendingPromiseIsNamedWhenItIsDroppedAndWhileSomebodyWaits) {
    setLeakDetection(LeakDetection::paranoid);
    std::deque<Message> messages;
    ChannelPromise kept;
    EmbeddedChannel channel;
    channel.pipeline().addLast<Keeps<13>>(named("encoder"), messages, &kept);
    channel.channel().write(Message(Letter<13>{"a"}), channel.channel().newPromise());
    ASSERT_TRUE(heldIn(channel.channel().id()));
    EXPECT_EQ(heldIn(channel.channel().id())->promises, 1u) << describeHeld();
    EXPECT_EQ(log.count("destroyed while it was pending"), 0);
    kept = {};
    EXPECT_EQ(log.count("the promise of a write was destroyed while it was pending",
                        "last passed to handler 'encoder' (", channelOf(channel)),
              1)
        << log.text();
    EXPECT_FALSE(heldIn(channel.channel().id()));
}

TEST_F(LeakDetectionTest, ACompletedPromiseIsNotReported) {
    setLeakDetection(LeakDetection::paranoid);
    ScriptedChannel channel;
    channel.pipeline().addLast<LoggingHandler>();
    channel.start();
    const ChannelPromise promise = channel->newPromise();
    channel->writeAndFlush(Buffer::copyOf("x"), promise);
    channel.run();
    EXPECT_TRUE(promise.done());
    EXPECT_FALSE(heldIn(channel->id())) << describeHeld();
}

// ---- the level ----

TEST(LeakDetectionDeathTest, ABadVariableIsRefusedWithWhatIsAccepted) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            try {
                setenv("WEFT_LEAK_DETECTION", "loud", 1);
                EmbeddedChannel channel;
            } catch (const std::invalid_argument& error) {
                std::fprintf(stderr, "%s\n", error.what());
                std::_Exit(7);
            }
        },
        testing::ExitedWithCode(7), "WEFT_LEAK_DETECTION is 'loud': expected off, simple or paranoid");
}

#else

TEST(LeakDetection, ABuildWithoutItSaysSoAndHowToGetIt) {
    EXPECT_EQ(leakDetection(), LeakDetection::off);
    EXPECT_NO_THROW(setLeakDetection(LeakDetection::off));
    try {
        setLeakDetection(LeakDetection::simple);
        FAIL() << "accepted";
    } catch (const std::logic_error& error) {
        EXPECT_NE(std::string(error.what()).find("-DWEFT_LEAK_DETECTION=ON"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(heldByHandlers().empty());
    EXPECT_EQ(describeHeld(), "");
}

#endif

}  // namespace
}  // namespace weft
