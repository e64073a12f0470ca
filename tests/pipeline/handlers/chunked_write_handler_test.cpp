#include <weft/pipeline/handlers/chunked_write_handler.hpp>

#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/embedded_channel.hpp>

#include "../scripted_sink.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using test::ScriptedChannel;

// `size` bytes; each is its position modulo 251.
std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i % 251);
    return text;
}

// Counts the chunks requested from it, and reports its destruction.
struct Source final : ChunkedInput {
    struct Log {
        std::size_t reads = 0;
        bool destroyed = false;
    };
    Source(Log& log, std::size_t chunks, std::size_t bytes) : log(log), chunks(chunks), bytes(bytes) {}
    ~Source() override { log.destroyed = true; }
    Message readChunk() override {
        ++log.reads;
        --chunks;
        return Message(Buffer::copyOf(std::string(bytes, 'x')));
    }
    bool isEndOfInput() override { return chunks == 0; }
    Log& log;
    std::size_t chunks;
    std::size_t bytes;
};

struct Chunks {
    Chunks() {
        channel.pipeline().addLast<ChunkedWriteHandler>();
        channel.start();
    }
    ChannelFuture write(Message&& message, bool flush = true) {
        ChannelPromise promise = channel->newPromise();
        channel->write(std::move(message), promise);
        if (flush) channel->flush();
        channel.run();
        return promise.future();
    }
    // The kernel accepts `bytes` more.
    void take(std::size_t bytes) {
        channel.sink->room = bytes;
        channel->onWritable();
        channel.run();
    }
    ChunkedWriteHandler& handler() { return *channel.pipeline().get<ChunkedWriteHandler>(); }
    ScriptedChannel channel;
};

TEST(ChunkedWriteHandler, MemoryLeavesInOrderAndThePromiseCompletesWithTheLastChunk) {
    Chunks test;
    const std::string text = pattern(1'000'000);
    const ChannelFuture done = test.write(chunked<ChunkedBuffer>(Buffer::copyOf(text)));
    EXPECT_TRUE(done.success());
    EXPECT_EQ(test.channel.sink->written, text);
}

TEST(ChunkedWriteHandler, ABufferIsCutWithoutCopying) {
    EmbeddedChannel channel(std::make_unique<ChunkedWriteHandler>());
    Buffer input = Buffer::copyOf(pattern(1000));
    const char* first = input.readData();
    channel.channel().writeAndFlush(chunked<ChunkedBuffer>(std::move(input), 400));
    channel.runPendingTasks();
    EXPECT_EQ(channel.outboundSize(), 3u);
    EXPECT_EQ(channel.readOutbound<Buffer>()->readData(), first);
    EXPECT_EQ(channel.readOutbound<Buffer>()->readData(), first + 400);
    EXPECT_EQ(channel.readOutbound<Buffer>()->readableBytes(), 200u);
}

TEST(ChunkedWriteHandler, TheNextChunkIsReadOnlyWhileTheChannelIsWritable) {
    Chunks test;
    test.channel.sink->room = 0;
    Source::Log log;
    const ChannelFuture done = test.write(chunked<Source>(log, 100, 10'000));
    EXPECT_EQ(log.reads, 7u) << "64 KiB and the chunk that goes beyond";
    test.take(35'000);
    EXPECT_EQ(log.reads, 7u) << "35,000 bytes are pending still: above the low mark";
    test.take(5'000);
    EXPECT_EQ(log.reads, 11u);
    while (!done.done()) test.take(20'000);
    EXPECT_TRUE(done.success());
    EXPECT_TRUE(log.destroyed);
    EXPECT_EQ(test.channel.sink->written.size(), 1'000'000u);
}

// A slow peer cannot make the server use more and more memory.
TEST(ChunkedWriteHandler, AnEndlessInputHoldsNoMoreThanTheWaterMarkAndAChunk) {
    Chunks test;
    test.channel.sink->room = 0;
    const std::int64_t before = BufferPool::liveBlocks();
    std::size_t made = 0;
    test.write(chunked<ChunkedGenerator>([&]() -> std::optional<Buffer> {
        ++made;
        return Buffer::copyOf(std::string(2000, 'x'));
    }));
    for (int i = 0; i < 1000; ++i) {
        test.take(3000);
        ASSERT_LE(BufferPool::liveBlocks() - before, 64 * 1024 / 2000 + 2);
        ASSERT_LE(test.channel->pendingBytes(), 64u * 1024 + 2000 + 96);
    }
    EXPECT_GT(made, 1000u);
}

TEST(ChunkedWriteHandler, AFastPeerDoesNotKeepTheLoopFromItsOtherTasks) {
    Chunks test;
    Source::Log log;
    test.channel->write(chunked<Source>(log, 100, 10'000));
    test.channel->flush();
    EXPECT_LE(log.reads, ChunkedWriteHandler::chunksAtOnce);
    std::size_t readsBefore = 0;
    test.channel.loop.execute([&] { readsBefore = log.reads; });
    test.channel.run();
    EXPECT_LE(readsBefore, 2 * ChunkedWriteHandler::chunksAtOnce) << "the task had its turn";
    EXPECT_EQ(log.reads, 100u);
}

TEST(ChunkedWriteHandler, OtherMessagesKeepTheirPlace) {
    Chunks test;
    test.channel.sink->room = 0;
    test.write(Message(Buffer::copyOf("<")));
    test.write(chunked<ChunkedBuffer>(Buffer::copyOf(pattern(100'000))));
    const ChannelFuture between = test.write(Message(Buffer::copyOf("|")));
    test.write(chunked<ChunkedBuffer>(Buffer::copyOf(pattern(70'000))));
    const ChannelFuture last = test.write(Message(Buffer::copyOf(">")));
    EXPECT_FALSE(between.done());
    while (!last.done()) test.take(9000);
    EXPECT_EQ(test.channel.sink->written, "<" + pattern(100'000) + "|" + pattern(70'000) + ">");
}

TEST(ChunkedWriteHandler, W1_NothingBeginsToLeaveBeforeItsFlush) {
    Chunks test;
    Source::Log first;
    Source::Log second;
    test.write(chunked<Source>(first, 2, 10));
    test.write(chunked<Source>(second, 2, 10), false);
    EXPECT_EQ(first.reads, 2u);
    EXPECT_EQ(second.reads, 0u);
    test.channel->flush();
    test.channel.run();
    EXPECT_EQ(second.reads, 2u);
}

TEST(ChunkedWriteHandler, AStreamIsReadToItsEnd) {
    for (const std::size_t size : {0u, 1u, 99u, 100u, 101u, 1000u}) {
        Chunks test;
        const ChannelFuture done =
            test.write(chunked<ChunkedStream>(std::make_unique<std::istringstream>(pattern(size)), 100));
        EXPECT_TRUE(done.success()) << size;
        EXPECT_EQ(test.channel.sink->written, pattern(size));
    }
}

TEST(ChunkedWriteHandler, AGeneratorEndsWithNothingAndPausesWithAnEmptyBuffer) {
    Chunks test;
    int step = 0;
    const ChannelFuture done = test.write(chunked<ChunkedGenerator>([&]() -> std::optional<Buffer> {
        switch (step++) {
            case 0: return Buffer::copyOf("one ");
            case 1: return Buffer();  // no data for now
            case 2: return Buffer::copyOf("two");
            default: return std::nullopt;
        }
    }));
    test.write(Message(Buffer::copyOf(" three")), false);
    EXPECT_EQ(test.channel.sink->written, "one ");
    EXPECT_FALSE(done.done());
    test.handler().resumeTransfer();
    test.channel.run();
    EXPECT_TRUE(done.success());
    EXPECT_EQ(test.channel.sink->written, "one two");
    test.channel->flush();
    test.channel.run();
    EXPECT_EQ(test.channel.sink->written, "one two three");
}

TEST(ChunkedWriteHandler, AThrowingInputFailsItsWriteAndTheNextOnesGoOn) {
    Chunks test;
    int step = 0;
    const ChannelFuture failed = test.write(chunked<ChunkedGenerator>([&]() -> std::optional<Buffer> {
        if (step++ == 1) throw std::runtime_error("the disk is gone");
        return Buffer::copyOf("a");
    }));
    const ChannelFuture next = test.write(Message(Buffer::copyOf("b")));
    ASSERT_TRUE(failed.done());
    EXPECT_EQ(describe(failed.cause()), "the disk is gone");
    EXPECT_TRUE(next.success());
    EXPECT_EQ(test.channel.sink->written, "ab");
}

TEST(ChunkedWriteHandler, AFailureWithoutAListenerIsLogged) {
    test::LogCapture log;
    Chunks test;
    test.channel->writeAndFlush(
        chunked<ChunkedGenerator>([]() -> std::optional<Buffer> { throw std::runtime_error("the disk is gone"); }));
    EXPECT_EQ(log.count("a chunked write ended early: the disk is gone"), 1);
}

TEST(ChunkedWriteHandler, WhatWaitsFailsWhenTheChannelIsClosed) {
    Chunks test;
    test.channel.sink->room = 0;
    Source::Log log;
    const ChannelFuture first = test.write(chunked<Source>(log, 1000, 10'000));
    const ChannelFuture second = test.write(Message(Buffer::copyOf("b")));
    test.channel->close();
    test.channel.run();
    EXPECT_THROW(first.sync(), ClosedChannelException);
    EXPECT_THROW(second.sync(), ClosedChannelException);
    EXPECT_TRUE(log.destroyed);
}

// Then each chunk fails at once and the channel never becomes unwritable; the handler must not read to the input's end.
TEST(ChunkedWriteHandler, AnOutputThatIsShutDownEndsAnEndlessInput) {
    Chunks test;
    test.channel->shutdownOutput();
    test.channel.run();
    std::size_t made = 0;
    const ChannelFuture done = test.write(chunked<ChunkedGenerator>([&]() -> std::optional<Buffer> {
        ++made;
        return Buffer::copyOf("x");
    }));
    EXPECT_THROW(done.sync(), OutputShutdownException);
    EXPECT_EQ(made, 1u);
}

TEST(ChunkedWriteHandler, ACancelledWriteIsReadNoFurther) {
    Chunks test;
    test.channel.sink->room = 0;
    Source::Log log;
    const ChannelFuture done = test.write(chunked<Source>(log, 1000, 10'000));
    const std::size_t reads = log.reads;
    EXPECT_TRUE(done.cancel());
    test.take(1'000'000);
    EXPECT_EQ(log.reads, reads);
    EXPECT_TRUE(log.destroyed);
}

TEST(ChunkedWriteHandler, W2_TheLastOfSeveralChunksCannotBeCancelledAlone) {
    struct Canceller final : ChannelOutboundHandler {
        void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
            const bool last = promise == target;
            ctx.write(std::move(message), std::move(promise));
            if (last) cancelled = target.future().cancel();
        }
        ChannelPromise target;
        bool cancelled = false;
    };
    Chunks test;
    test.channel.pipeline().addFirst<Canceller>();
    Canceller& canceller = *test.channel.pipeline().get<Canceller>();
    canceller.target = test.channel->newPromise();
    Source::Log log;
    test.channel->writeAndFlush(chunked<Source>(log, 3, 100), canceller.target);
    test.channel.run();
    EXPECT_FALSE(canceller.cancelled);
    EXPECT_TRUE(canceller.target.future().success());
    EXPECT_EQ(test.channel.sink->written.size(), 300u);
}

TEST(ChunkedWriteHandler, WhatWaitsFailsWhenTheHandlerIsRemovedEvenFromInsideAnInput) {
    Chunks test;
    ChannelFuture second;
    ScriptedChannel& channel = test.channel;
    const ChannelFuture first = test.write(chunked<ChunkedGenerator>([&]() -> std::optional<Buffer> {
                                               channel.pipeline().remove<ChunkedWriteHandler>();
                                               return Buffer::copyOf("x");
                                           }),
                                           false);
    second = test.write(Message(Buffer::copyOf("b")));
    EXPECT_EQ(describe(first.cause()), "the ChunkedWriteHandler has been removed from its pipeline");
    EXPECT_FALSE(second.success());
    const ChannelFuture third = test.write(Message(Buffer::copyOf("c")));
    EXPECT_TRUE(third.success());
    EXPECT_EQ(test.channel.sink->written, "c");
}

TEST(ChunkedWriteHandler, AnInputThatWritesToItsChannelDoesNotDisturbTheQueue) {
    Chunks test;
    int step = 0;
    ScriptedChannel& channel = test.channel;
    const ChannelFuture done = test.write(chunked<ChunkedGenerator>([&]() -> std::optional<Buffer> {
        for (int i = 0; i < 20; ++i) channel->writeAndFlush(Message(Buffer::copyOf("|")));
        return step++ < 2 ? std::optional(Buffer::copyOf("x")) : std::nullopt;
    }));
    EXPECT_TRUE(done.success());
    EXPECT_EQ(test.channel.sink->written, "xx" + std::string(60, '|'));
}

TEST(ChunkedWriteHandler, BadInputsAreRefused) {
    EXPECT_THROW(ChunkedBuffer(Buffer(), 0), std::invalid_argument);
    EXPECT_THROW(ChunkedBuffer(Buffer(), ChunkedInput::largestChunkBytes + 1), std::invalid_argument);
    EXPECT_THROW(ChunkedStream(nullptr), std::invalid_argument);
    auto failed = std::make_unique<std::istringstream>("x");
    failed->setstate(std::ios::failbit);
    EXPECT_THROW(ChunkedStream(std::move(failed)), std::invalid_argument);
    Chunks test;
    EXPECT_THROW(test.write(Message(ChunkedInputPointer())).sync(), std::invalid_argument);
}

}  // namespace
}  // namespace weft
