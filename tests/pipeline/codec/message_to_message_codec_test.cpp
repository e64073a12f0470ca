#include <weft/pipeline/codec/message_to_message_codec.hpp>

#include <charconv>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/embedded_channel.hpp>

namespace weft {
namespace {

// Converts between ints for the application and decimal text on the wire; "a,b" holds two numbers.
struct DecimalCodec final : MessageToMessageCodec<std::string, int> {
    void decode(ChannelHandlerContext& ctx, std::string text) override {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find(',', at), text.size());
            ctx.fireChannelRead(Message(std::stoi(text.substr(at, end - at))));
            at = end + 1;
        }
    }
    Message encode(ChannelHandlerContext&, int number) override {
        if (number < 0) throw std::domain_error("negative");
        return Message(std::to_string(number));
    }
};

TEST(MessageToMessageCodec, TurnsEachTypeIntoTheOtherAndPassesTheRest) {
    EmbeddedChannel channel;
    channel.pipeline().addLast<DecimalCodec>();
    channel.writeInbound(std::string("1,22"));
    channel.writeInbound(std::string());
    channel.writeInbound(double{0.5});
    EXPECT_EQ(channel.readInbound<int>(), 1);
    EXPECT_EQ(channel.readInbound<int>(), 22);
    EXPECT_EQ(channel.readInbound<double>(), 0.5);
}

TEST(MessageToMessageCodec, TheEncodedMessageCarriesThePromise) {
    EmbeddedChannel channel;
    struct Texts final : ChannelOutboundHandler {
        void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
            ctx.write(Buffer::copyOf(message.get<std::string>()), std::move(promise));
        }
    };
    channel.pipeline().addLast<Texts>().addLast<DecimalCodec>();
    const ChannelFuture written = channel.channel().writeFuture(int{42});
    channel.runPendingTasks();
    EXPECT_TRUE(written.success());
    EXPECT_EQ(channel.readOutboundText(), "42");
}

TEST(MessageToMessageCodec, AnExceptionOfDecodeIsADecoderException) {
    EmbeddedChannel channel;
    channel.pipeline().addLast<DecimalCodec>();
    try {
        channel.writeInbound(std::string("1,x"));
        channel.checkException();
        ADD_FAILURE();
    } catch (const DecoderException& error) {
        EXPECT_NE(std::string(error.what()).find("decode() of DecimalCodec#0 threw"), std::string::npos)
            << error.what();
    }
    EXPECT_EQ(channel.readInbound<int>(), 1) << "what was decoded before";
}

TEST(MessageToMessageCodec, AnExceptionOfEncodeFailsTheWrite) {
    EmbeddedChannel channel;
    channel.pipeline().addLast<DecimalCodec>();
    const ChannelFuture written = channel.channel().writeFuture(int{-1});
    channel.runPendingTasks();
    ASSERT_TRUE(written.done());
    EXPECT_THROW(std::rethrow_exception(written.cause()), EncoderException);
}

}  // namespace
}  // namespace weft
