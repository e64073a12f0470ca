// FiberDecoder and ByteReader: a protocol as a loop of a fiber.
#include <weft/pipeline/codec/fiber_decoder.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "pipeline/hosted_channel.hpp"

namespace weft {
namespace {

using Decode = std::function<void(ByteReader&, ChannelHandlerContext&)>;

struct Decoder final : FiberDecoder {
    explicit Decoder(Decode decode, std::size_t maxRead = defaultMaxRead)
        : FiberDecoder(maxRead), decode_(std::move(decode)) {}
    void decode(ByteReader& in, ChannelHandlerContext& ctx) override { decode_(in, ctx); }
    Decode decode_;
};

void fireText(ChannelHandlerContext& ctx, const Buffer& text) {
    ctx.fireChannelRead(Message(std::string(text.view())));
}

// Every event that reaches the end of the pipeline, as a line.
struct Recorder final : ChannelInboundHandler {
    explicit Recorder(std::vector<std::string>& events) : events(events) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        if (message.is<Buffer>()) {
            events.push_back("bytes " + std::string(message.take<Buffer>().view()));
        } else {
            events.push_back(message.take<std::string>());
        }
    }
    void channelReadComplete(ChannelHandlerContext&) override { events.push_back("complete"); }
    void channelInactive(ChannelHandlerContext&) override { events.push_back("inactive"); }
    void userEventTriggered(ChannelHandlerContext&, Message&& event) override {
        events.push_back(event.is<InputShutdownEvent>() ? "input shutdown" : "event");
        event.reset();
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        events.push_back("error " + describe(cause));
    }
    std::vector<std::string>& events;
};

struct DecodingChannel {
    explicit DecodingChannel(Decode decode, std::size_t maxRead = FiberDecoder::defaultMaxRead,
                             bool halfClosure = false)
        : channel([&](Channel& inner) {
              inner.setOption(ChannelOption::ALLOW_HALF_CLOSURE, halfClosure);
              inner.pipeline().addLast<Decoder>(named("decoder"), std::move(decode), maxRead);
              inner.pipeline().addLast<Recorder>(events);
          }) {
        settle();
    }
    // One read cycle of these pieces; then the fiber has run until it waits.
    void deliver(std::initializer_list<std::string> pieces) {
        channel.host.inDispatch([&] {
            for (const std::string& piece : pieces) channel->onRead(Buffer::copyOf(piece));
            channel->onReadComplete();
        });
        settle();
    }
    void endInput() {
        channel.host.inDispatch([&] { channel->onEof(); });
        settle();
    }
    // A fiber that was woken before this one has run.
    void settle() {
        for (int i = 0; i < 3; ++i) {
            channel.host.inFiber([] {});
            channel.host.inDispatch([] {});
        }
    }
    std::vector<std::string> seen() {
        std::vector<std::string> result;
        channel.host.inDispatch([&] { result = std::exchange(events, {}); });
        return result;
    }
    bool hasDecoder() {
        bool has = false;
        channel.host.inDispatch([&] {
            const auto names = channel->pipeline().names();
            has = std::find(names.begin(), names.end(), "decoder") != names.end();
        });
        return has;
    }
    bool wantsRead() {
        bool wants = false;
        channel.host.inDispatch([&] { wants = channel.sink->wantsRead; });
        return wants;
    }

    std::vector<std::string> events;  // before the channel, whose handlers write it
    test::HostedChannel channel;
};

using Events = std::vector<std::string>;

void lengthFrames(ByteReader& in, ChannelHandlerContext& ctx) {
    while (in.hasMore()) fireText(ctx, in.read(in.read<std::uint16_t>()));
}
void lines(ByteReader& in, ChannelHandlerContext& ctx) {
    while (in.hasMore()) fireText(ctx, in.readLine());
}

std::string frame(const std::string& text) {
    return std::string{static_cast<char>(text.size() >> 8), static_cast<char>(text.size() & 0xff)} + text;
}

TEST(FiberDecoderTest, DecodesFramesHoweverTheyArrive) {
    const std::string bytes = frame("one") + frame("") + frame("three") + frame(std::string(300, 'x'));
    const Events all{"one", "", "three", std::string(300, 'x')};
    for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, bytes.size()}) {
        DecodingChannel channel(lengthFrames);
        for (std::size_t at = 0; at < bytes.size(); at += step) channel.deliver({bytes.substr(at, step)});
        Events messages = channel.seen();
        std::erase(messages, "complete");
        EXPECT_EQ(messages, all) << "pieces of " << step;
    }
}

TEST(FiberDecoderTest, DecodesLinesHoweverTheyArrive) {
    const std::string bytes = "GET x\r\n\nb\rc\nlast\r\n";
    for (const std::size_t step : {std::size_t{1}, std::size_t{2}, bytes.size()}) {
        DecodingChannel channel(lines);
        for (std::size_t at = 0; at < bytes.size(); at += step) channel.deliver({bytes.substr(at, step)});
        Events messages = channel.seen();
        std::erase(messages, "complete");
        EXPECT_EQ(messages, (Events{"GET x", "", "b\rc", "last"})) << "pieces of " << step;
    }
}

TEST(FiberDecoderTest, ADelimiterOfSeveralBytesIsFoundAcrossPieces) {
    DecodingChannel channel([](ByteReader& in, ChannelHandlerContext& ctx) {
        while (in.hasMore()) fireText(ctx, in.readUntil("=-="));
    });
    for (const char* piece : {"a=b=", "-", "=c", "d=-", "="}) channel.deliver({piece});
    EXPECT_EQ(channel.seen(), (Events{"complete", "complete", "a=b", "complete", "complete", "cd", "complete"}));
}

TEST(FiberDecoderTest, TheEndOfACycleFollowsTheMessagesOfTheCycle) {
    DecodingChannel channel(lines);
    channel.deliver({"a\nb\nc"});
    EXPECT_EQ(channel.seen(), (Events{"a", "b", "complete"}));
    channel.deliver({"c"});
    EXPECT_EQ(channel.seen(), (Events{"complete"}));
    channel.deliver({"\n"});
    EXPECT_EQ(channel.seen(), (Events{"cc", "complete"}));
}

TEST(FiberDecoderTest, TheEndOfTheInputClosesAfterTheLastMessage) {
    DecodingChannel channel(lines);
    channel.channel.host.inDispatch([&] {
        channel.channel->onRead(Buffer::copyOf("a\nb\n"));
        channel.channel->onEof();
    });
    channel.settle();
    EXPECT_EQ(channel.seen(), (Events{"a", "b", "complete", "inactive"}));
    EXPECT_TRUE(channel.channel->closed());
}

TEST(FiberDecoderTest, WithHalfClosureTheEndOfTheInputIsAnEventAfterTheLastMessage) {
    DecodingChannel channel(lines, FiberDecoder::defaultMaxRead, true);
    channel.channel.host.inDispatch([&] {
        channel.channel->onRead(Buffer::copyOf("a\n"));
        channel.channel->onEof();
    });
    channel.settle();
    EXPECT_EQ(channel.seen(), (Events{"a", "complete", "input shutdown"}));
    EXPECT_FALSE(channel.channel->closed());
    EXPECT_FALSE(channel.hasDecoder());
}

TEST(FiberDecoderTest, TheEndOfTheInputInsideAMessageIsReported) {
    DecodingChannel channel(lengthFrames);
    channel.deliver({frame("whole") + frame("cut").substr(0, 4)});
    channel.endInput();
    const Events seen = channel.seen();
    ASSERT_EQ(seen.size(), 4u);
    EXPECT_EQ(seen[0], "whole");
    EXPECT_EQ(seen[1], "complete");
    EXPECT_NE(seen[2].find("ended after 2 of 3 bytes"), std::string::npos) << seen[2];
    EXPECT_EQ(seen[3], "inactive");
}

TEST(FiberDecoderTest, WhatTheEndLeftBehindCanStillBeRead) {
    DecodingChannel channel([](ByteReader& in, ChannelHandlerContext& ctx) {
        try {
            in.readLine();
        } catch (const EndOfInputException&) {
            fireText(ctx, in.read(in.available()));
            EXPECT_TRUE(in.readSome().empty());
        }
    });
    channel.deliver({"no newline"});
    channel.endInput();
    EXPECT_EQ(channel.seen(), (Events{"complete", "no newline", "inactive"}));
}

TEST(FiberDecoderTest, D3_WhenDecodeReturnsTheBytesThatAreLeftArePassedOn) {
    DecodingChannel channel([](ByteReader& in, ChannelHandlerContext& ctx) { fireText(ctx, in.readLine()); });
    channel.deliver({"hello\nmore"});
    EXPECT_EQ(channel.seen(), (Events{"hello", "bytes more", "complete"}));
    EXPECT_FALSE(channel.hasDecoder());
    channel.deliver({"and more"});
    EXPECT_EQ(channel.seen(), (Events{"bytes and more", "complete"}));
    channel.endInput();
    EXPECT_EQ(channel.seen(), (Events{"complete", "inactive"}));
}

TEST(FiberDecoderTest, ADecoderThatIsRemovedPassesOnItsBytesAndItsReadsFail) {
    ErrorCode error;
    DecodingChannel channel([&](ByteReader& in, ChannelHandlerContext&) {
        try {
            in.readLine();
        } catch (const SystemError& failure) {
            error = failure.code();
        }
    });
    channel.deliver({"half a li"});
    channel.channel->pipeline().remove("decoder");
    channel.settle();
    EXPECT_EQ(channel.seen(), (Events{"complete", "bytes half a li", "complete"}));
    EXPECT_EQ(error, operationAborted());
}

TEST(FiberDecoderTest, AnExceptionIsReportedOnceAndWhatFollowsIsDiscarded) {
    DecodingChannel channel([](ByteReader& in, ChannelHandlerContext&) {
        in.readLine();
        throw std::runtime_error("no such command");
    });
    channel.deliver({"bad\nmore\n"});
    channel.deliver({"and more\n"});
    const Events seen = channel.seen();
    ASSERT_EQ(seen.size(), 3u);
    EXPECT_NE(seen[0].find("decode() of decoder threw"), std::string::npos) << seen[0];
    EXPECT_NE(seen[0].find("no such command"), std::string::npos) << seen[0];
    EXPECT_EQ(seen[1], "complete");
    EXPECT_EQ(seen[2], "complete");
    channel.endInput();
    EXPECT_EQ(channel.seen(), (Events{"inactive"}));
}

TEST(FiberDecoderTest, AReadBeyondTheLimitIsRefused) {
    for (const bool delimited : {false, true}) {
        DecodingChannel channel(
            [&](ByteReader& in, ChannelHandlerContext&) { delimited ? in.readUntil("\n") : in.read(17); }, 16);
        channel.deliver({std::string(17, 'x')});
        const Events seen = channel.seen();
        ASSERT_EQ(seen.size(), 2u);
        EXPECT_NE(seen[0].find("maxRead"), std::string::npos) << seen[0];
    }
    DecodingChannel channel(
        [](ByteReader& in, ChannelHandlerContext& ctx) {
            fireText(ctx, in.readUntil("\n"));
            fireText(ctx, in.read(16));
            in.skip(100);
            fireText(ctx, in.readSome(3));
        },
        16);
    channel.deliver({std::string(15, 'x') + "\n" + std::string(16, 'y') + std::string(60, '-')});
    channel.deliver({std::string(40, '-') + "abcde"});
    EXPECT_EQ(channel.seen(),
              (Events{std::string(15, 'x'), std::string(16, 'y'), "complete", "abc", "bytes de", "complete"}));
}

TEST(FiberDecoderTest, NumbersAreReadInBothByteOrders) {
    DecodingChannel channel([](ByteReader& in, ChannelHandlerContext& ctx) {
        const auto big = in.read<std::uint32_t>();
        const auto little = in.read<std::int16_t>(std::endian::little);
        ctx.fireChannelRead(Message(std::to_string(big) + " " + std::to_string(little)));
    });
    channel.deliver({std::string("\0\0\1", 3), std::string("\2\xfe\xff", 3)});
    EXPECT_EQ(channel.seen(), (Events{"258 -2", "complete"}));
}

TEST(FiberDecoderTest, ReadIsWithheldWhileManyBytesAreUnread) {
    Promise<void> promise;
    DecodingChannel channel([gate = promise.future()](ByteReader& in, ChannelHandlerContext& ctx) {
        gate.await();
        for (int i = 0; i < 3; ++i) in.read(1024);
        fireText(ctx, in.read(FiberDecoder::highMark + 10));
    });
    channel.deliver({std::string(FiberDecoder::highMark - 1, 'x')});
    EXPECT_TRUE(channel.wantsRead());
    channel.deliver({"x"});
    EXPECT_FALSE(channel.wantsRead());
    promise.setValue();  // the fiber waits for more than the mark: it must be read
    channel.settle();
    EXPECT_TRUE(channel.wantsRead());
    EXPECT_EQ(channel.seen(), (Events{"complete"}));
    channel.deliver({std::string(3 * 1024 + 10, 'x')});
    EXPECT_EQ(channel.seen().front(), std::string(FiberDecoder::highMark + 10, 'x'));
}

TEST(FiberDecoderTest, WithoutAutoReadDecodeReadsWhenItWaits) {
    DecodingChannel channel([](ByteReader& in, ChannelHandlerContext& ctx) {
        while (in.hasMore()) fireText(ctx, in.readLine());
    });
    channel.channel->setOption(ChannelOption::AUTO_READ, false);
    channel.settle();
    channel.deliver({"a"});
    EXPECT_TRUE(channel.wantsRead());
    channel.deliver({"\nb\n"});
    EXPECT_TRUE(channel.wantsRead());
    EXPECT_EQ(channel.seen(), (Events{"complete", "a", "b", "complete"}));
}

TEST(FiberDecoderTest, TheCloseOfTheChannelEndsItsReads) {
    ErrorCode error;
    DecodingChannel channel([&](ByteReader& in, ChannelHandlerContext&) {
        try {
            in.read(1);
        } catch (const SystemError& failure) {
            error = failure.code();
            throw;
        }
    });
    channel.channel->close().sync();
    channel.settle();
    EXPECT_EQ(error, operationAborted());
    EXPECT_EQ(channel.seen(), (Events{"inactive"}));
}

TEST(FiberDecoderTest, DecodeMayCloseTheChannelItselfAndReturn) {
    DecodingChannel channel([](ByteReader& in, ChannelHandlerContext& ctx) {
        in.read(1);
        ctx.close();
    });
    channel.deliver({"xyz"});
    EXPECT_EQ(channel.seen(), (Events{"inactive"}));
}

TEST(FiberDecoderTest, DecodeMayAwaitItsWrites) {
    DecodingChannel channel([](ByteReader& in, ChannelHandlerContext& ctx) {
        while (in.hasMore()) {
            Buffer reply = Buffer::copyOf("+");
            reply.append(in.readLine().view());
            ctx.writeFuture(Message(std::move(reply))).await();
            ctx.fireChannelRead(Message(std::string("sent")));
        }
    });
    channel.deliver({"a\nb\n"});
    while (true) {
        std::string written;
        channel.channel.host.inDispatch([&] { written = channel.channel.sink->written; });
        if (written == "+a+b") break;
        std::this_thread::yield();
    }
    channel.settle();
    EXPECT_EQ(channel.seen(), (Events{"sent", "sent", "complete"}));
}

TEST(FiberDecoderTest, OtherMessagesAndEventsPass) {
    DecodingChannel channel(lines);
    channel.channel->pipeline().fireChannelRead(Message(std::string("not bytes")));
    channel.channel->pipeline().fireUserEventTriggered(Message(1));
    channel.settle();
    EXPECT_EQ(channel.seen(), (Events{"not bytes", "event"}));
}

TEST(FiberDecoderTest, AnEmbeddedLoopIsRefused) {
    EmbeddedChannel channel;
    channel.pipeline().addLast<Decoder>(lines);
    EXPECT_THROW(channel.checkException(), ChannelPipelineException);
}

TEST(FiberDecoderTest, AMaxReadThatHoldsNoNumberIsRefusedWithWhatIsAccepted) {
    try {
        Decoder decoder(lines, 7);
        FAIL();
    } catch (const std::invalid_argument& refusal) {
        EXPECT_STREQ(refusal.what(), "FiberDecoder: maxRead is 7; accepted: 8 or more");
    }
}

}  // namespace
}  // namespace weft
