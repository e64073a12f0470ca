// ByteToMessageDecoder: when decode() is called and what leaves (D-1, D-2), removal and replacement (D-3), re-entrant
// reads (D-4), exceptions (D-6). Its input: byte_to_message_decoder_input_test.cpp.
#include <weft/pipeline/codec/byte_to_message_decoder.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/codec/fixed_length_frame_decoder.hpp>
#include <weft/pipeline/embedded_channel.hpp>

#include "scripted_decoder.hpp"

namespace weft {
namespace {

using test::bytes;
using test::Events;
using test::letter;
using test::Listener;
using test::pair;
using test::Scripted;
using test::textOf;

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

// ---- D-6: exceptions ----

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
        void exceptionCaught(ChannelHandlerContext&, std::exception_ptr error) override { cause = error; }
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
        explicit Own(Events& events) : events(events) {}
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

}  // namespace
}  // namespace weft
