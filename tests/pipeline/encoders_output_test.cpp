// Encoders write into the output of their channel, or of the handler that sees writes before it.
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/codec/length_field_prepender.hpp>
#include <weft/pipeline/codec/message_to_byte_encoder.hpp>
#include <weft/pipeline/embedded_channel.hpp>

#include "pipeline/scripted_sink.hpp"

namespace weft {
namespace {

using test::ScriptedChannel;

// Encodes a string as its length, a colon and itself.
struct Encoder final : ChannelOutboundHandler {
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
        const std::string text = message.take<std::string>();
        if (!promise.setUncancellable()) return;
        ctx.output().append(std::to_string(text.size()) + ":");
        ctx.output().append(Buffer::copyOf(text));
        ctx.finishOutput(std::move(promise));
    }
};

// Sees the writes of the encoder.
struct Watcher final : ChannelOutboundHandler {
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
        seen += message.get<Buffer>().view();
        if (auto then = std::exchange(inside, nullptr)) then();
        ctx.write(std::move(message), std::move(promise));
    }
    std::string seen;
    std::function<void()> inside;
};

TEST(EncodersOutput, IsTheChannelsWhenNoHandlerSeesTheWrite) {
    ScriptedChannel channel;
    channel.pipeline().addLast<Encoder>();
    channel.start();
    const ChannelPromise promise = channel->newPromise();
    channel->write(std::string("one"));
    channel->write(std::string("four"), promise);
    EXPECT_EQ(channel->pendingBytes(), 11 + ChannelOutput::entryBytes) << "one mark";
    channel->flush();
    channel.run();
    EXPECT_EQ(channel.sink->written, "3:one4:four");
    EXPECT_TRUE(promise.future().success());
}

TEST(EncodersOutput, AHandlerInFrontSeesEveryByte) {
    ScriptedChannel channel;
    channel.pipeline().addLast<Watcher>().addLast<Encoder>();
    channel.start();
    const ChannelPromise promise = channel->newPromise();
    const std::string large(5000, 'l');
    channel->write(std::string("one"));
    channel->writeAndFlush(std::string(large), promise);
    channel.run();
    EXPECT_EQ(channel.sink->written, "3:one5000:" + large);
    EXPECT_EQ(channel.pipeline().get<Watcher>()->seen, channel.sink->written);
    EXPECT_TRUE(promise.future().success());
}

TEST(EncodersOutput, AWriteInsideAWriteComesBeforeTheRestOfIt) {
    ScriptedChannel channel;
    channel.pipeline().addLast<Watcher>().addLast<Encoder>();
    channel.start();
    channel.pipeline().get<Watcher>()->inside = [&] { channel->write(std::string("in")); };
    channel->writeAndFlush(std::string(2000, 'l'));
    channel.run();
    EXPECT_EQ(channel.sink->written, "2:in2000:" + std::string(2000, 'l')) << "as any handler's write";
}

TEST(EncodersOutput, AHandlerThatIsAddedLaterSeesTheBytesFromThenOn) {
    ScriptedChannel channel;
    channel.pipeline().addLast<Encoder>();
    channel.start();
    channel->write(std::string("a"));
    channel.pipeline().addFirst<Watcher>();
    channel->write(std::string("b"));
    channel->flush();
    channel.run();
    EXPECT_EQ(channel.pipeline().get<Watcher>()->seen, "1:b");
    EXPECT_EQ(channel.sink->written, "1:a1:b");
}

TEST(EncodersOutput, OfATransportOfMessagesIsABufferForEachWrite) {
    EmbeddedChannel channel(std::make_unique<Encoder>());
    channel.writeOutbound(std::string("one"));
    channel.writeOutbound(std::string("two"));
    EXPECT_EQ(channel.outboundSize(), 2u);
    EXPECT_EQ(channel.readOutbound().get<Buffer>().view(), "3:one");
    channel.finishAndReleaseAll();
}

TEST(EncodersOutput, AfterTheCloseItsBytesAreRefusedAsEveryWrite) {
    ScriptedChannel channel;
    channel.pipeline().addLast<Encoder>();
    channel.start();
    channel.sink->closesLater = true;
    channel->close();
    const ChannelPromise promise = channel->newPromise();
    channel->writeAndFlush(std::string("late"), promise);
    EXPECT_TRUE(promise.done());
    EXPECT_FALSE(promise.future().success());
    EXPECT_EQ(channel->pendingBytes(), 0u);
}

TEST(EncodersOutput, MuchOfItMakesTheChannelUnwritableAtTheEndOfTheWrite) {
    ScriptedChannel channel;
    channel.pipeline().addLast<Encoder>();
    channel.start();
    channel->write(std::string(200'000, 'x'));
    EXPECT_FALSE(channel->isWritable());
    channel->flush();
    channel.run();
    EXPECT_TRUE(channel->isWritable());
}

// Encodes each number as text, and zero not at all.
struct Numbers final : MessageToByteEncoder<int> {
    void encode(ChannelHandlerContext& ctx, int& number, ChannelOutput& out) override {
        out.append("number ");
        if (flushes) ctx.flush();
        if (number == 0) throw std::runtime_error("zero");
        out.append(std::to_string(number) + ";");
    }
    bool flushes = false;
};

TEST(MessageToByteEncoder, E2_OfAMessageThatFailsNothingIsSent) {
    ScriptedChannel channel;
    channel.pipeline().addLast<Numbers>();
    channel.start();
    const ChannelPromise failed = channel->newPromise(), sent = channel->newPromise();
    channel->write(1);
    channel->write(0, failed);
    channel->writeAndFlush(2, sent);
    channel.run();
    EXPECT_EQ(channel.sink->written, "number 1;number 2;");
    EXPECT_THROW(failed.future().sync(), EncoderException);
    EXPECT_TRUE(sent.future().success());
}

TEST(MessageToByteEncoder, AMessageThatFailsAfterAFlushClosesTheChannel) {
    ScriptedChannel channel;
    channel.pipeline().addLast<Numbers>();
    channel.start();
    const ChannelPromise failed = channel->newPromise();
    channel.pipeline().get<Numbers>()->flushes = true;
    channel->writeAndFlush(0, failed);
    channel.run();
    EXPECT_THROW(failed.future().sync(), EncoderException);
    EXPECT_FALSE(channel->open()) << "nothing may follow the half of a message";
}

TEST(LengthFieldPrepender, ItsPromiseCoversTheLengthAndTheFrame) {
    ScriptedChannel channel;
    channel.pipeline().addLast<LengthFieldPrepender>(LengthPrependOptions{.length = 2});
    channel.start();
    channel.sink->room = 4;
    const ChannelPromise promise = channel->newPromise();
    channel->writeAndFlush(Buffer::copyOf("abc"), promise);
    channel.run();
    EXPECT_FALSE(promise.done());
    channel.sink->room = 100;
    channel->onWritable();
    EXPECT_EQ(channel.sink->written, std::string_view("\0\3abc", 5));
    EXPECT_TRUE(promise.future().success());
}

TEST(ChannelOutput, NumbersAreWrittenInEitherByteOrder) {
    ChannelOutput output;
    output.write<std::uint16_t>(0x4142);
    output.write<std::uint32_t>(0x43444546, std::endian::little);
    output.flush();
    EXPECT_EQ(output.single(), "ABFEDC");
}

// Encodes a number and a text, a long one without a copy, or nothing.
struct FrameEncoder final : MessageToByteEncoder<std::string> {
    void encode(ChannelHandlerContext&, std::string& text, ChannelOutput& out) override {
        if (text.empty()) return;
        out.write<std::uint8_t>('#');
        text.size() > 50'000 ? out.append(Buffer::copyOf(text)) : out.append(std::string_view(text));
    }
};

TEST(EncodersOutput, AHandlerInFrontGetsOneBufferForEachMessageBecauseItMayFrameIt) {
    ScriptedChannel channel;
    channel.pipeline().addLast<LengthFieldPrepender>(LengthPrependOptions{.length = 4}).addLast<FrameEncoder>();
    channel.start();
    std::string expected;
    for (const std::size_t size : {0, 3, 20'000, 60'000}) {
        for (const bool listened : {false, true}) {
            const std::string text(size, 't'), frame = size > 0 ? "#" + text : "";
            const ChannelPromise promise = listened ? channel->newPromise() : ChannelPromise();
            channel->writeAndFlush(std::string(text), promise);
            for (int shift = 24; shift >= 0; shift -= 8) expected += static_cast<char>(frame.size() >> shift);
            expected += frame;
            channel.run();
            EXPECT_TRUE(channel.sink->written == expected) << size << ' ' << listened;
            if (listened) {
                EXPECT_TRUE(promise.future().success()) << size;
            }
        }
    }
}

}  // namespace
}  // namespace weft
