// The input of a ByteToMessageDecoder: its end (D-5), the bytes that are kept for the next call (D-6), and reading on
// without AUTO_READ.
#include <weft/pipeline/codec/byte_to_message_decoder.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/testing/recorder.hpp>

#include "../scripted_sink.hpp"
#include "scripted_decoder.hpp"

namespace weft {
namespace {

using test::bytes;
using test::Events;
using test::Listener;
using test::pair;
using test::Recorder;
using test::Scripted;
using test::ScriptedChannel;
using test::textOf;

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

// ---- D-6: kept bytes ----

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
