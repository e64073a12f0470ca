#include <weft/pipeline/codec/string_codec.hpp>

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/codec/line_based_frame_decoder.hpp>
#include <weft/pipeline/embedded_channel.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>

#include "support/log_capture.hpp"

namespace weft {
namespace {

TEST(StringCodec, FramesBecomeStringsByteForByte) {
    EmbeddedChannel channel(std::make_unique<LineBasedFrameDecoder>(100), std::make_unique<StringDecoder>());
    channel.writeInbound(Buffer::copyOf("one\n\nb\xff\n"));
    EXPECT_EQ(channel.readInbound<std::string>(), "one");
    EXPECT_EQ(channel.readInbound<std::string>(), "");
    EXPECT_EQ(channel.readInbound<std::string>(), "b\xff");
}

TEST(StringCodec, StringsBecomeBuffersAndOtherMessagesPass) {
    EmbeddedChannel channel(std::make_unique<StringEncoder>());
    channel.writeOutbound(std::string("one"), std::string(5000, 'x'), std::string(), 7);
    EXPECT_EQ(channel.readOutbound<Buffer>()->view(), "one");
    EXPECT_EQ(channel.readOutbound<Buffer>()->readableBytes(), 5000u);
    EXPECT_TRUE(channel.readOutbound<Buffer>()->empty()) << "an empty text is a write, too: its promise completes";
    EXPECT_EQ(channel.readOutbound<int>(), 7);
}

struct Picky final : MessageToByteEncoder<int> {
    void encode(ChannelHandlerContext&, int& value, ChannelOutput& out) override {
        out.append("number ");
        if (value < 0) throw std::runtime_error("negative");
        out.append(std::to_string(value));
    }
};

TEST(MessageToByteEncoder, E2_AThrowFailsTheWriteWithAnEncoderExceptionAndWritesNothing) {
    EmbeddedChannel channel(std::make_unique<Picky>());
    ChannelPromise promise = channel.channel().newPromise();
    channel.channel().write(Message(-1), promise);
    channel.writeOutbound(5);
    EXPECT_EQ(channel.readOutboundText(), "number 5");
    ASSERT_TRUE(promise.done());
    try {
        std::rethrow_exception(promise.future().cause());
    } catch (const EncoderException& error) {
        EXPECT_STREQ(error.what(), "encode() of Picky#0 threw negative");
        EXPECT_THROW(std::rethrow_if_nested(error), std::runtime_error);
    }
}

TEST(MessageToByteEncoder, E3_AFailureWithoutAPromiseIsAnExceptionAndClosesTheChannelWhenNoHandlerTakesIt) {
    EmbeddedChannel channel(std::make_unique<Picky>());
    channel.channel().writeAndFlush(Message(-1));
    EXPECT_THROW(channel.checkException(), EncoderException);
    EXPECT_FALSE(channel.active());
    EXPECT_EQ(channel.outboundSize(), 0u);
}

}  // namespace
}  // namespace weft
