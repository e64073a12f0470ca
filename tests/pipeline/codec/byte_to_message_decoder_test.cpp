#include <weft/pipeline/codec/byte_to_message_decoder.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/codec/fixed_length_frame_decoder.hpp>
#include <weft/pipeline/embedded_channel.hpp>

#include "../recorder.hpp"
#include "../scripted_sink.hpp"
#include "segmentation.hpp"

namespace weft {
namespace {

using test::Events;
using test::Outcome;
using test::Recorder;
using test::ScriptedChannel;

Buffer bytes(std::string_view text) {
    return Buffer::copyOf(text);
}

// Each call of decode() runs the function that the test has set.
struct Scripted final : ByteToMessageDecoder {
    using Decode = std::function<void(ChannelHandlerContext&, Buffer&, DecoderOutput&)>;
    explicit Scripted(Decode itsDecode, Decode itsLast = {})
        : onDecode(std::move(itsDecode)), onLast(std::move(itsLast)) {}

    void decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) override { onDecode(ctx, in, out); }
    void decodeLast(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) override {
        if (onLast) return onLast(ctx, in, out);
        ByteToMessageDecoder::decodeLast(ctx, in, out);
    }
    void handlerRemoved0(ChannelHandlerContext&) override { ++removals; }

    Decode onDecode;
    Decode onLast;
    int removals = 0;
};

// One letter per message.
void letter(ChannelHandlerContext&, Buffer& in, DecoderOutput& out) {
    out.add(Message(in.split(1)));
}
// Two letters per message.
void pair(ChannelHandlerContext&, Buffer& in, DecoderOutput& out) {
    if (in.readableBytes() >= 2) out.add(Message(in.split(2)));
}

std::string textOf(const Message& message) {
    return std::string(message.get<Buffer>().view());
}

// Records the decoder's output in order.
struct Listener final : ChannelInboundHandler {
    using OnRead = std::function<void(ChannelHandlerContext&, const std::string&)>;
    explicit Listener(Events& itsEvents, OnRead itsAction = {}) : events(itsEvents), action(std::move(itsAction)) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        const std::string text = message.is<Buffer>() ? textOf(message) : std::string(message.typeName());
        message.reset();
        events.push_back(text);
        if (action) action(ctx, text);
    }
    void channelReadComplete(ChannelHandlerContext&) override { events.push_back("complete"); }
    void channelInactive(ChannelHandlerContext&) override { events.push_back("inactive"); }
    void userEventTriggered(ChannelHandlerContext&, Message&& event) override {
        events.push_back(event.is<InputShutdownEvent>() ? "input shutdown" : "event");
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        events.push_back(test::kindOf(cause));
    }
    Events& events;
    OnRead action;
};

// ---- D-1: when decode() is called ----

TEST(ByteToMessageDecoder, D1_DecodeIsCalledWhileItConsumesOrMakesSomething) {
    Events events;
    int calls = 0;
    EmbeddedChannel channel(std::make_unique<Scripted>([&](auto&, Buffer& in, DecoderOutput& out) {
        ++calls;
        if (in.view()[0] == ' ') return in.consumed(1);  // consumed bytes but made no message: called again
        if (in.readableBytes() >= 2) out.add(Message(in.split(2)));
    }));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes(" ab  cd e"));
    EXPECT_EQ(events, (Events{"ab", "cd", "complete"}));
    EXPECT_EQ(calls, 7) << "the last one neither consumes nor makes: more input is needed";
    channel.writeInbound(bytes("f"));
    EXPECT_EQ(events.at(3), "ef");
}

TEST(ByteToMessageDecoder, D1_AMessageOfNoBytesIsAnError) {
    Events events;
    int calls = 0;
    EmbeddedChannel channel(std::make_unique<Scripted>([&](auto&, Buffer&, DecoderOutput& out) {
        ++calls;
        out.add(Message(1));
    }));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("abc"));
    EXPECT_EQ(calls, 1);
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[0], "int");
    EXPECT_EQ(events[1].find("!decoder: decode() of Scripted#0 produced a int without consuming a byte"), 0u)
        << events[1];
}

TEST(ByteToMessageDecoder, D1_BytesOfAWholeMessageAreNotCopied) {
    EmbeddedChannel channel(std::make_unique<Scripted>(pair));
    Buffer input = bytes("abcd");
    const char* first = input.readData();
    channel.writeInbound(std::move(input));
    EXPECT_EQ(channel.readInbound<Buffer>()->readData(), first);
    EXPECT_EQ(channel.readInbound<Buffer>()->readData(), first + 2);
}

TEST(ByteToMessageDecoder, D1_TakeFrameLeavesTheLastFrameASoleOwner) {
    EmbeddedChannel channel(std::make_unique<FixedLengthFrameDecoder>(2));
    channel.writeInbound(bytes("abcd"));
    EXPECT_EQ(textOf(channel.readInbound()), "ab");
    EXPECT_TRUE(channel.readInbound<Buffer>()->unique());
}

TEST(ByteToMessageDecoder, D1_OtherMessagesPassInTheirOrder) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Scripted>(pair));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("ab"), 7, bytes("cd"));
    EXPECT_EQ(events, (Events{"ab", "int", "cd", "complete"}));
}

// ---- D-2: messages leave before decode() is called again ----

TEST(ByteToMessageDecoder, D2_WhatWasMadeLeavesBeforeDecodeIsCalledAgain) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Scripted>([&](auto& ctx, Buffer& in, DecoderOutput& out) {
        events.push_back("decode");
        letter(ctx, in, out);
    }));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("ab"));
    EXPECT_EQ(events, (Events{"decode", "a", "decode", "b", "complete"}));
}

TEST(ByteToMessageDecoder, D2_ADecoderThatIsRemovedByAReceiverDecodesNoFurther) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Scripted>(letter));
    channel.pipeline().addLast<Listener>(events, [](ChannelHandlerContext& ctx, const std::string& text) {
        if (text == "b") ctx.pipeline().remove<Scripted>();
    });
    channel.writeInbound(bytes("abcd"));
    EXPECT_EQ(events, (Events{"a", "b", "cd", "complete", "complete"}));
}

// ---- D-3: removal and replacement ----

TEST(ByteToMessageDecoder, D3_RemovedInsideDecodeItEmitsThenForwardsTheRest) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Scripted>([&](auto& ctx, Buffer& in, DecoderOutput& out) {
        ctx.pipeline().template remove<Scripted>();
        events.push_back("still decoding " + std::string(in.view()));
        out.add(Message(in.split(2)));
        out.add(Message(7));
    }));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("abcd"));
    EXPECT_EQ(events, (Events{"still decoding abcd", "ab", "int", "cd", "complete", "complete"}));
}

TEST(ByteToMessageDecoder, D3_RemovedBetweenReadsItForwardsTheRestAndACompleteForIt) {
    Events events;
    auto owned = std::make_unique<Scripted>(pair);
    EmbeddedChannel channel(std::move(owned));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("abc"));
    events.clear();
    channel.pipeline().remove<Scripted>();
    EXPECT_EQ(events, (Events{"c", "complete"}));
    channel.writeInbound(bytes("d"));
    EXPECT_EQ(events.at(2), "d") << "nothing stands in the way any more";
}

TEST(ByteToMessageDecoder, D3_WithNothingLeftARemovalIsSilent) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Scripted>(pair));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("ab"));
    events.clear();
    channel.pipeline().remove<Scripted>();
    EXPECT_EQ(events, Events{});
}

// H-7 (replacing a handler), as in a protocol upgrade.
TEST(ByteToMessageDecoder, D3_ReplacedInsideDecodeTheRestFlowsThroughTheNewDecoder) {
    Events events;
    EmbeddedChannel channel;
    channel.pipeline().addLast<Scripted>([](auto& ctx, Buffer& in, DecoderOutput& out) {
        in.consumed(1);
        out.add(Message(7));
        ctx.pipeline().template replace<FixedLengthFrameDecoder>(ctx.handler(), 3);
    });
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("Uabcdef"));
    EXPECT_EQ(events, (Events{"int", "abc", "def", "complete", "complete"}));
}

// ---- D-4: re-entrant reads ----

TEST(ByteToMessageDecoder, D4_AReentrantReadIsQueuedNotNested) {
    Events events;
    int depth = 0;
    int deepest = 0;
    EmbeddedChannel channel(std::make_unique<Scripted>(pair));
    channel.pipeline().addLast<Listener>(events, [&](ChannelHandlerContext& ctx, const std::string& text) {
        deepest = std::max(deepest, ++depth);
        if (text == "ab") {
            ctx.pipeline().fireChannelRead(bytes("ef"));
            ctx.pipeline().fireChannelRead(Message(7));
            ctx.pipeline().fireChannelReadComplete();
            events.push_back("fired");
        }
        --depth;
    });
    channel.writeInbound(bytes("abcd"));
    EXPECT_EQ(events, (Events{"ab", "fired", "cd", "ef", "int", "complete", "complete"}));
    EXPECT_EQ(deepest, 1);
}

TEST(ByteToMessageDecoder, D4_AReadFiredFromInsideDecodeWaitsForItsEnd) {
    Events events;
    bool once = true;
    EmbeddedChannel channel(std::make_unique<Scripted>([&](auto& ctx, Buffer& in, DecoderOutput& out) {
        const std::size_t before = in.readableBytes();
        if (std::exchange(once, false)) ctx.pipeline().fireChannelRead(bytes("cd"));
        EXPECT_EQ(in.readableBytes(), before);
        pair(ctx, in, out);
    }));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("ab"));
    EXPECT_EQ(events, (Events{"ab", "cd", "complete"}));
}

// ---- D-5: the end of input ----

TEST(ByteToMessageDecoder, D5_InactiveDecodesTheRestThenTheLastThenCompletesThenGoesOn) {
    Events events;
    bool hungry = true;
    EmbeddedChannel channel(std::make_unique<Scripted>(
        [&](auto& ctx, Buffer& in, DecoderOutput& out) {
            if (!hungry) pair(ctx, in, out);
        },
        [&](auto&, Buffer& in, DecoderOutput& out) {
            events.push_back("last " + std::string(in.view()));
            in.consumed(1);
            out.add(Message(7));
        }));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("abcde"));
    hungry = false;
    channel.close();
    EXPECT_EQ(events, (Events{"complete", "ab", "cd", "last e", "int", "complete", "inactive"}));
}

TEST(ByteToMessageDecoder, D5_WithNothingMadeAtTheEndThereIsNoComplete) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Scripted>(pair));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("a"));
    channel.close();
    EXPECT_EQ(events, (Events{"complete", "inactive"}));
}

TEST(ByteToMessageDecoder, D5_TheLastTurnIsTakenOnceEvenWithoutInput) {
    int last = 0;
    EmbeddedChannel channel(std::make_unique<Scripted>(pair, [&](auto&, Buffer& in, auto&) {
        EXPECT_TRUE(in.empty());
        ++last;
    }));
    channel.pipeline().fireUserEventTriggered(Message(InputShutdownEvent{}));
    channel.close();
    EXPECT_EQ(last, 1);
}

TEST(ByteToMessageDecoder, D5_HC4_InputShutdownIsTheEndOfInput) {
    Events events;
    ScriptedChannel channel;
    channel->setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
    channel.pipeline().addLast<Scripted>(
        pair, [](auto&, Buffer& in, DecoderOutput& out) { out.add(Message(std::exchange(in, Buffer()))); });
    channel.pipeline().addLast<Listener>(events);
    channel.start();
    channel->onRead(bytes("abc"));
    channel->onEof();
    EXPECT_EQ(events, (Events{"ab", "complete", "c", "complete", "input shutdown"}));
    channel->close({});
    channel.run();
    EXPECT_EQ(events.back(), "inactive");
    EXPECT_EQ(events.size(), 6u);
}

TEST(ByteToMessageDecoder, D5_OtherUserEventsPassAndEndNothing) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Scripted>(pair));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("a"));
    channel.pipeline().fireUserEventTriggered(Message(1));
    channel.writeInbound(bytes("b"));
    EXPECT_EQ(events, (Events{"complete", "event", "ab", "complete"}));
}

// ---- D-6: exceptions and kept bytes ----

TEST(ByteToMessageDecoder, D6_AThrowIsADecoderExceptionAfterWhatWasMade) {
    Events events;
    EmbeddedChannel channel(std::make_unique<Scripted>([](auto& ctx, Buffer& in, DecoderOutput& out) {
        letter(ctx, in, out);
        if (in.view() == "c") throw std::runtime_error("no c");
    }));
    channel.pipeline().addLast<Listener>(events);
    channel.writeInbound(bytes("abc"));
    EXPECT_EQ(events, (Events{"a", "b", "!decoder: decode() of Scripted#0 threw no c", "complete"}));
    channel.writeInbound(bytes("d"));
    EXPECT_EQ(events.at(4), "c") << "decode() is called again when more input arrives";
    EXPECT_EQ(events.at(5), "d");
}

TEST(ByteToMessageDecoder, D6_TheOriginalExceptionIsNestedAndDecoderExceptionsStayWhatTheyAre) {
    struct Keeps final : ChannelInboundHandler {
        void exceptionCaught(ChannelHandlerContext&, std::exception_ptr itsCause) override { cause = itsCause; }
        std::exception_ptr cause;
    };
    bool own = false;
    EmbeddedChannel channel(std::make_unique<Scripted>([&](auto&, Buffer& in, auto&) {
        in.consumed(1);
        if (own) throw CorruptedFrameException("mine");
        throw std::runtime_error("foreign");
    }));
    channel.pipeline().addLast<Keeps>();
    channel.writeInbound(bytes("a"));
    try {
        std::rethrow_exception(channel.pipeline().get<Keeps>()->cause);
    } catch (const DecoderException& error) {
        EXPECT_THROW(std::rethrow_if_nested(error), std::runtime_error);
    }
    own = true;
    channel.writeInbound(bytes("b"));
    EXPECT_EQ(test::kindOf(channel.pipeline().get<Keeps>()->cause), "!corrupted");
}

TEST(ByteToMessageDecoder, D6_AnExceptionComesToTheDecodersOwnExceptionCaughtFirst) {
    struct Own final : ByteToMessageDecoder {
        explicit Own(Events& itsEvents) : events(itsEvents) {}
        void decode(ChannelHandlerContext&, Buffer& in, DecoderOutput&) override {
            in.consumed(1);
            throw std::runtime_error("bad");
        }
        void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) override {
            events.push_back("own");
            ctx.fireExceptionCaught(cause);
        }
        Events& events;
    };
    Events events;
    EmbeddedChannel channel;
    channel.pipeline().addLast<Own>(events).addLast<Listener>(events);
    channel.writeInbound(bytes("a"));
    EXPECT_EQ(events, (Events{"own", "!decoder: decode() of Own#0 threw bad", "complete"}));
}

// A peer always leaves half a message: consumed bytes must not pile up.
TEST(ByteToMessageDecoder, D6_ReadBytesAreDiscarded) {
    std::size_t largest = 0;
    std::size_t frames = 0;
    EmbeddedChannel channel(std::make_unique<Scripted>([&](auto&, Buffer& in, DecoderOutput&) {
        largest = std::max(largest, in.capacity());
        if (in.readableBytes() < 100) return;
        in.consumed(100);
        ++frames;
    }));
    for (bool oneCycle : {true, false}) {
        channel.channel().onMessage(Message(bytes(std::string(50, 'x'))));
        for (int i = 0; i < 10'000; ++i) {
            channel.channel().onMessage(Message(bytes(std::string(100, 'x'))));
            if (!oneCycle) channel.channel().onReadComplete();
        }
        channel.channel().onReadComplete();
    }
    EXPECT_EQ(frames, 20'001u);
    EXPECT_LE(largest, 2048u);
}

TEST(ByteToMessageDecoder, D6_AFewBytesDoNotKeepALargeBlockWhileThePeerIsSilent) {
    struct Sees final : ByteToMessageDecoder {
        void decode(ChannelHandlerContext&, Buffer& in, DecoderOutput&) override {
            before = in.capacity();
            if (in.readableBytes() > 10) in.consumed(in.readableBytes() - 10);
        }
        std::size_t before = 0;
    };
    EmbeddedChannel channel;
    channel.pipeline().addLast<Sees>();
    Buffer large = Buffer::allocate(64 * 1024);
    large.append(std::string(1000, 'x'));
    channel.writeInbound(std::move(large));
    EXPECT_EQ(channel.pipeline().get<Sees>()->before, 64u * 1024);
    channel.writeInbound(bytes("y"));
    EXPECT_EQ(channel.pipeline().get<Sees>()->before, 256u);
}

// A kept frame does not change when later bytes arrive.
TEST(ByteToMessageDecoder, D6_BytesThatSomebodySharesAreNotOverwritten) {
    EmbeddedChannel channel(std::make_unique<Scripted>(pair));
    channel.writeInbound(bytes("abc"));
    channel.writeInbound(bytes("de"), bytes("f"));
    std::string all;
    while (channel.inboundSize() > 0) all += textOf(channel.readInbound());
    EXPECT_EQ(all, "abcdef");
}

struct SharedByMistake final : ByteToMessageDecoder {
    static constexpr bool sharable = true;
    void decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) override { pair(ctx, in, out); }
};

TEST(ByteToMessageDecoder, D6_ADecoderIsForOneChannel) {
    auto decoder = std::make_shared<SharedByMistake>();
    EmbeddedChannel first(decoder);
    first.writeInbound(bytes("a"));
    EmbeddedChannel second(decoder);
    EXPECT_THROW(second.checkException(), ChannelPipelineException);
    EXPECT_TRUE(second.pipeline().empty());
    first.writeInbound(bytes("b"));
    EXPECT_EQ(textOf(first.readInbound()), "ab") << "the first is not disturbed";
}

// ---- reading on without AUTO_READ ----

struct ManualRead {
    Events events;
    ScriptedChannel channel;
    ManualRead() {
        channel->setOption(ChannelOption::AUTO_READ, false);
        channel.pipeline().addLast<Scripted>(pair);
        channel.pipeline().addLast<Listener>(events);
        channel.start();
        channel->read();
    }
};

TEST(ByteToMessageDecoder, R6_WithAutoReadOffACycleWithoutAMessageAsksForMore) {
    ManualRead test;
    EXPECT_TRUE(test.channel.sink->wantsRead);
    test.channel.deliver({"a"});
    EXPECT_TRUE(test.channel.sink->wantsRead) << "nobody behind the decoder could ask";
    test.channel.deliver({"b"});
    EXPECT_EQ(test.events, (Events{"complete", "ab", "complete"}));
    EXPECT_FALSE(test.channel.sink->wantsRead) << "there was a message: the next read() is its receiver's";
}

TEST(ByteToMessageDecoder, R6_ACycleWithoutInputAsksForNothing) {
    ManualRead test;
    test.channel.deliver({"ab"});
    test.channel.pipeline().fireChannelReadComplete();
    EXPECT_FALSE(test.channel.sink->wantsRead);
}

TEST(ByteToMessageDecoder, R6_WithAutoReadOnItAsksForNothingItself) {
    Events events;
    EmbeddedChannel channel;
    auto recorder = std::make_unique<Recorder>("head", events);
    recorder->recordsReadRequests = true;
    channel.pipeline().addLast(std::move(recorder));
    channel.pipeline().addLast<Scripted>(pair);
    events.clear();
    channel.writeInbound(bytes("a"));
    EXPECT_EQ(std::count(events.begin(), events.end(), "head:readRequest"), 1) << "the pipeline's own (R-2)";
}

}  // namespace
}  // namespace weft
