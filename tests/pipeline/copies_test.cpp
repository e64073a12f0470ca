// How many bytes are copied between two system calls: none for an echo, none for an answer that is sent unchanged.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <weft/http/object_aggregator.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/detail/copied_bytes.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>

#include "scripted_sink.hpp"

namespace weft {
namespace {

struct Echo final : ChannelInboundHandler {
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override { ctx.writeAndFlush(std::move(message)); }
};

struct Answers final : SimpleInboundHandler<http::FullRequest> {
    explicit Answers(std::string_view body) : body(body) {}
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest) override {
        ctx.writeAndFlush(Message(http::ok(Buffer::wrapStatic(body))));
    }
    std::string_view body;
};

// As a transport reads: the kernel writes into a buffer of the size that the channel predicted.
Buffer received(Channel& channel, std::string_view bytes) {
    Buffer buffer = Buffer::allocate(std::max(channel.readBufferSize(), bytes.size()));
    bytes.copy(buffer.writeData(), bytes.size());
    buffer.produced(bytes.size());
    return buffer;
}

// Bytes copied by receiving `bytes` 100 times, each time in its own turn.
std::uint64_t copiedBy(test::ScriptedChannel& channel, std::string_view bytes) {
    const std::uint64_t before = detail::copiedBytes();
    for (int i = 0; i < 100; ++i) {
        channel->onRead(received(*channel.channel, bytes));
        channel->onReadComplete();
        channel.loop.runTasks();
    }
    return detail::copiedBytes() - before;
}

constexpr std::string_view request = "GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n";

std::uint64_t copiedByAnswers(std::string_view body) {
    test::ScriptedChannel channel;
    channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Answers>(body);
    channel.start();
    const std::uint64_t copied = copiedBy(channel, request);
    EXPECT_TRUE(channel.sink->written.ends_with(body));
    return copied;
}

class Copies : public testing::Test {
  protected:
    void SetUp() override {
        if (!detail::copiesAreCounted) GTEST_SKIP() << "counts copied bytes only with assertions (preset dev)";
    }
};

TEST_F(Copies, AreCounted) {
    const std::uint64_t before = detail::copiedBytes();
    Buffer buffer = Buffer::copyOf("1234");
    buffer.append("56");
    EXPECT_GE(detail::copiedBytes() - before, 6u);
}

TEST_F(Copies, AnEchoCopiesNothing) {
    for (const std::size_t size : {1u, 100u, 2048u, 60'000u}) {
        test::ScriptedChannel channel;
        channel.pipeline().addLast<Echo>();
        channel.start();
        const std::string bytes(size, 'e');
        EXPECT_EQ(copiedBy(channel, bytes), 0u) << size;
        EXPECT_EQ(channel.sink->written.size(), 100 * size);
    }
}

// A body as short as a header line is copied to the end of the head, which is cheaper than a piece of its own.
TEST_F(Copies, APlainTextAnswerCopiesItsShortBodyAndNothingElse) {
    EXPECT_LE(copiedByAnswers("Hello, World!"), 100 * std::string_view("Hello, World!").size());
}

TEST_F(Copies, AnAnswerWithALargeBodyCopiesOnlyItsHead) {
    static const std::string large(20'000, 'l');
    EXPECT_LE(copiedByAnswers(large), 100 * 200u);
}

}  // namespace
}  // namespace weft
