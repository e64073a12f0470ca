// Queues bound the memory that they hold, even when each piece is one byte of a large block: they copy small pieces of
// large blocks, or stop reading while pieces wait. One test for every place that queues Buffers.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <weft/http/client_codec.hpp>
#include <weft/http/object_aggregator.hpp>
#include <weft/http/response_aggregator.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/pipeline/buffer_pool.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/codec/byte_to_message_decoder.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/handlers/chunked_input.hpp>
#include <weft/pipeline/handlers/chunked_write_handler.hpp>
#include <weft/pipeline/handlers/flow_control_handler.hpp>
#include <weft/pipeline/handlers/traffic_shaping_handler.hpp>

#include "scripted_sink.hpp"

namespace weft {
namespace {

using test::ScriptedChannel;

constexpr std::size_t blockBytes = 64 * 1024;
constexpr int pieces = 1000;

// `length` bytes of a block of 64 KiB that has no other owner.
Buffer piece(std::size_t length = 1, std::size_t offset = 0) {
    Buffer block = Buffer::allocate(blockBytes);
    block.append(std::string(offset + length, 'x'));
    return block.slice(offset, length);
}

// The number of live blocks above the number at construction.
class LiveBlocks {
  public:
    std::int64_t count() const { return BufferPool::liveBlocks() - before_; }

  private:
    std::int64_t before_ = BufferPool::liveBlocks();
};

// ---- the outbound buffer ----

TEST(HeldMemory, SmallWritesBehindAFullSocketAreCopiedTogether) {
    const LiveBlocks live;
    ScriptedChannel channel;
    channel.start();
    channel.sink->room = 0;
    for (int i = 0; i < pieces; ++i) channel->writeAndFlush(piece());
    EXPECT_LE(live.count(), 3) << "the first piece, and a kilobyte of copies";
    channel.sink->room = blockBytes;
    channel->onWritable();
    EXPECT_EQ(channel.sink->written, std::string(pieces, 'x'));
}

TEST(HeldMemory, SmallWritesBetweenLargeOnesHoldNoBlocks) {
    ChannelOutput buffer;
    for (int i = 0; i < pieces; ++i) {
        buffer.write(Buffer::copyOf(std::string(2048, 'l')), {});  // fills its block
        buffer.write(piece(), {});
    }
    EXPECT_LE(buffer.heldBytes(), 4 * buffer.pendingBytes() + blockBytes);
    buffer.flush();
    EXPECT_EQ(buffer.flushedBytes(), pieces * 2049u);
}

TEST(HeldMemory, WritesOfAFewKilobytesHoldNoBlocksOfManyTimesTheirSize) {
    for (const std::size_t length : {std::size_t{1025}, std::size_t{2000}, std::size_t{4096}}) {
        ChannelOutput buffer;
        for (int i = 0; i < 100; ++i) buffer.write(piece(length, 100), {});
        EXPECT_LE(buffer.heldBytes(), 4 * buffer.pendingBytes() + blockBytes) << length;
    }
}

TEST(HeldMemory, PiecesOfOneBlockInARowAreNotCopied) {
    ChannelOutput buffer;
    Buffer block = Buffer::copyOf(std::string(blockBytes, 'x'));
    for (int i = 0; i < 16; ++i) buffer.write(block.split(2048), {});
    EXPECT_EQ(buffer.pieces(), 16u);
    EXPECT_EQ(buffer.heldBytes(), blockBytes) << "the block is held once, however many pieces of it there are";
}

TEST(HeldMemory, LargeWritesAreNotCopied) {
    ChannelOutput buffer;
    buffer.write(piece(8192), {});
    buffer.write(piece(8192), {});
    EXPECT_EQ(buffer.heldBytes(), 2 * blockBytes) << "the copy would cost more than the block";
}

// ---- decoders ----

// Expects a message of 2,000 bytes, which never becomes complete in this test.
struct WantsMore final : ByteToMessageDecoder {
    void decode(ChannelHandlerContext&, Buffer& in, DecoderOutput& out) override {
        if (in.readableBytes() == 2000) out.add(Message(takeFrame(in, 2000)));
    }
};

TEST(HeldMemory, ADecoderHoldsNoMoreThanItHasCumulated) {
    const LiveBlocks live;
    EmbeddedChannel channel(std::make_unique<WantsMore>());
    for (int i = 0; i < pieces; ++i) {
        channel.writeInbound(piece());
        ASSERT_LE(live.count(), 1);
    }
}

TEST(HeldMemory, D6_ASliceAtTheFrontOfALargeBlockDoesNotKeepIt) {
    EmbeddedChannel channel(std::make_unique<WantsMore>());
    Buffer block = Buffer::allocate(blockBytes);
    block.append("x");
    channel.writeInbound(block.share());
    EXPECT_TRUE(block.unique()) << "the decoder has a copy of its one byte";
}

// Feeds itself while it decodes, as a handler does that fires decrypted bytes.
struct ReadsInside final : ByteToMessageDecoder {
    explicit ReadsInside(const LiveBlocks& live) : live(live) {}
    void decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput&) override {
        if (fed) return;
        fed = true;
        for (int i = 0; i < pieces; ++i) channelRead(ctx, Message(piece()));
        held = live.count();
        in.consumed(1);
    }
    const LiveBlocks& live;
    bool fed = false;
    std::int64_t held = 0;
};

TEST(HeldMemory, ReadsThatWaitForADecoderAreCopiedTogether) {
    const LiveBlocks live;
    EmbeddedChannel channel;
    channel.pipeline().addLast<ReadsInside>(live);
    channel.writeInbound(piece());
    EXPECT_LE(channel.pipeline().get<ReadsInside>()->held, 4);
}

// ---- aggregators ----

TEST(HeldMemory, AnAggregatedRequestHoldsNoMoreThanItsBody) {
    const LiveBlocks live;
    EmbeddedChannel channel(std::make_unique<http::ServerCodec>(), std::make_unique<http::ObjectAggregator>());
    channel.writeInbound(
        Buffer::copyOf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(pieces) + "\r\n\r\n"));
    const std::int64_t head = live.count();
    for (int i = 1; i < pieces; ++i) channel.writeInbound(piece());
    EXPECT_LE(live.count(), head + 2);
    channel.writeInbound(piece());
    auto request = channel.readInbound<http::FullRequest>();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->body(), std::string(pieces, 'x'));
    request.reset();
    channel.finishAndReleaseAll();
}

TEST(HeldMemory, ABodyOfOneByteDoesNotKeepALargeBlock) {
    EmbeddedChannel channel(std::make_unique<http::ServerCodec>(), std::make_unique<http::ObjectAggregator>());
    channel.writeInbound(Buffer::copyOf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n"));
    Buffer block = Buffer::allocate(blockBytes);
    block.append("x");
    channel.writeInbound(block.share());
    EXPECT_TRUE(block.unique());
    channel.finishAndReleaseAll();
}

TEST(HeldMemory, AnAggregatedResponseOfOneByteDoesNotKeepALargeBlock) {
    EmbeddedChannel channel(std::make_unique<http::ClientCodec>(), std::make_unique<http::ResponseAggregator>());
    http::ClientRequest request;
    request.headers.add("Host", "a");
    channel.writeOutbound(std::move(request));
    channel.writeInbound(Buffer::copyOf("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"));
    Buffer block = Buffer::allocate(blockBytes);
    block.append("x");
    channel.writeInbound(block.share());
    EXPECT_TRUE(block.unique());
    channel.writeInbound(Buffer::copyOf("y"));
    EXPECT_EQ(channel.inboundSize(), 1u) << "the response is whole";
    channel.finishAndReleaseAll();
}

// ---- handlers that queue messages ----

// The source delivers many blocks in a cycle, each with one byte in use: more than a transport does without AUTO_READ.
TEST(HeldMemory, AMessageThatWaitsForItsReaderStopsTheSource) {
    constexpr int cycle = 16;
    const LiveBlocks live;
    ScriptedChannel channel;
    channel->setOption(ChannelOption::AUTO_READ, false);
    channel.pipeline().addLast<FlowControlHandler>();
    channel.start();
    for (int round = 0; round < 50; ++round) {
        channel->read();
        ASSERT_TRUE(channel.sink->wantsRead) << "the queue is empty";
        for (int i = 0; i < cycle; ++i) channel->onRead(piece());
        channel->onReadComplete();
        for (std::size_t waiting = cycle - 1; waiting > 0; --waiting) {
            ASSERT_EQ(channel.pipeline().get<FlowControlHandler>()->queuedMessages(), waiting);
            ASSERT_LE(live.count(), cycle);
            ASSERT_FALSE(channel.sink->wantsRead) << waiting << " messages wait";
            channel->read();
        }
    }
}

// ---- handlers that queue writes ----

TEST(HeldMemory, ShapedTrafficHoldsNoBlocksAndCountsItsEntries) {
    ScriptedChannel channel;
    channel.pipeline().addLast<TrafficShapingHandler>(TrafficLimits{.write = 1, .burst = 1});
    channel.start();
    for (int i = 0; i < pieces; ++i) channel->write(piece());
    EXPECT_EQ(channel->isWritable(), false) << "a thousand entries of one byte are more than 64 KiB";
    const auto* shaping = channel.pipeline().get<TrafficShapingHandler>();
    EXPECT_LT(shaping->queuedBytes(), pieces + 1u);
    EXPECT_LE(shaping->heldBytes(), 4 * (shaping->queuedBytes() + pieces * ChannelOutput::entryBytes) + blockBytes);
}

TEST(HeldMemory, WritesBehindAChunkedInputHoldNoBlocks) {
    struct NeverEnds final : ChunkedInput {
        Message readChunk() override { return {}; }
        bool isEndOfInput() override { return false; }
    };
    ScriptedChannel channel;
    channel.pipeline().addLast<ChunkedWriteHandler>();
    channel.start();
    channel->writeAndFlush(chunked<NeverEnds>());
    std::size_t held = 0;
    for (int i = 0; i < pieces; ++i) {
        Buffer block = Buffer::allocate(blockBytes);
        block.append("x");
        channel->write(block.share());
        held += !block.unique();
    }
    EXPECT_LE(held, 1u);
}

}  // namespace
}  // namespace weft
