// LengthFieldBasedFrameDecoder, LengthFieldPrepender, FixedLengthFrameDecoder.
#include <weft/pipeline/codec/length_field_based_frame_decoder.hpp>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/pipeline/codec/fixed_length_frame_decoder.hpp>
#include <weft/pipeline/codec/length_field_prepender.hpp>
#include <weft/pipeline/embedded_channel.hpp>

#include "segmentation.hpp"

namespace weft {
namespace {

using test::AddDecoder;
using test::decodePieces;
using test::decodeWhole;
using test::Outcome;
using namespace std::string_literals;

AddDecoder fields(LengthFieldOptions options) {
    return [=](ChannelPipeline& pipeline) { pipeline.addLast<LengthFieldBasedFrameDecoder>(options); };
}

std::string number(std::uint64_t value, unsigned bytes, std::endian order = std::endian::big) {
    std::string text(bytes, '\0');
    for (unsigned i = 0; i < bytes; ++i, value >>= 8) {
        text[order == std::endian::big ? bytes - 1 - i : i] = static_cast<char>(value & 0xff);
    }
    return text;
}

TEST(LengthFieldBasedFrameDecoder, D7_TheFieldSaysWhereTheFrameEnds) {
    EXPECT_EQ(decodeWhole(fields({.length = 2}), "\0\2ab\0\0\0\1c\0\5de"s), (Outcome{"\0\2ab"s, "\0\0"s, "\0\1c"s}));
}

TEST(LengthFieldBasedFrameDecoder, D7_TheHeaderIsStrippedAndEmptyFramesAreFrames) {
    EXPECT_EQ(decodeWhole(fields({.length = 2, .strip = 2}), "\0\2ab\0\0\0\1c"s), (Outcome{"ab", "", "c"}));
}

TEST(LengthFieldBasedFrameDecoder, D7_OffsetAdjustmentAndStripWorkTogether) {
    // One byte of magic, the length of the whole message, one byte of flags, then the text.
    const LengthFieldOptions options{.offset = 1, .length = 2, .adjustment = -3, .strip = 4};
    EXPECT_EQ(decodeWhole(fields(options), "M\0\6Fab"s
                                           "M\0\4F"s
                                           "M\0\5Fc"s),
              (Outcome{"ab", "", "c"}));
    // The field counts only the text; two more bytes follow the text.
    EXPECT_EQ(decodeWhole(fields({.length = 1, .adjustment = 2, .strip = 1}), "\1FFa\0GG"s), (Outcome{"FFa", "GG"}));
}

TEST(LengthFieldBasedFrameDecoder, D7_AllFieldLengthsInBothByteOrders) {
    for (const unsigned length : {1u, 2u, 3u, 4u, 8u}) {
        for (const std::endian order : {std::endian::big, std::endian::little}) {
            const std::string body(length == 1 ? 200 : 300, 'x');
            const std::string input = number(body.size(), length, order) + body + number(1, length, order) + "y";
            EXPECT_EQ(decodeWhole(fields({.length = length, .strip = length, .byteOrder = order}), input),
                      (Outcome{body, "y"}))
                << length;
        }
    }
}

TEST(LengthFieldBasedFrameDecoder, D7_TheGreatestLengthPassesAndOneMoreIsTooLongOnce) {
    for (const bool failFast : {true, false}) {
        const auto decoder = fields({.maxFrameLength = 5, .length = 1, .strip = 1, .failFast = failFast});
        EXPECT_EQ(decodeWhole(decoder, "\4abcd\5abcde\1x"s), (Outcome{"abcd", "!too long", "x"}));
    }
}

TEST(LengthFieldBasedFrameDecoder, D7_FailFastReportsAtOnceElseWhenTheFrameHasPassed) {
    for (const bool failFast : {true, false}) {
        Outcome outcome;
        EmbeddedChannel channel;
        fields({.maxFrameLength = 5, .length = 1, .strip = 1, .failFast = failFast})(channel.pipeline());
        channel.pipeline().addLast<test::FrameCollector>(outcome);
        channel.writeInbound(Buffer::copyOf("\x0a"));
        channel.writeInbound(Buffer::copyOf("123456789"));
        EXPECT_EQ(outcome.size(), failFast ? 1u : 0u);
        channel.writeInbound(Buffer::copyOf("0\1x"));
        EXPECT_EQ(outcome, (Outcome{"!too long", "x"}));
    }
}

TEST(LengthFieldBasedFrameDecoder, D7_HugeLengthsAreTooLongAndReserveNothing) {
    const std::int64_t before = BufferPool::liveBlocks();
    for (const std::uint64_t value : {~0ull, ~0ull - 7, 1ull << 63, (1ull << 63) - 1, 1ull << 62, 1ull << 40}) {
        for (const std::int32_t adjustment : {0, 100, -8, INT32_MAX, INT32_MIN + 1}) {
            Outcome outcome;
            EmbeddedChannel channel;
            fields({.length = 8, .adjustment = adjustment})(channel.pipeline());
            channel.pipeline().addLast<test::FrameCollector>(outcome);
            channel.writeInbound(Buffer::copyOf(number(value, 8)));
            for (int i = 0; i < 10; ++i) channel.writeInbound(Buffer::copyOf(std::string(1000, '\1')));
            EXPECT_EQ(outcome, (Outcome{"!too long"})) << value << " " << adjustment;
            EXPECT_EQ(BufferPool::liveBlocks(), before) << "nothing is kept of what is discarded";
        }
    }
}

TEST(LengthFieldBasedFrameDecoder, D7_AFrameThatEndsWithinItsHeaderIsCorruptedAndEndsDecoding) {
    const Outcome expected{"ab", "!corrupted"};
    EXPECT_EQ(decodeWhole(fields({.length = 1, .adjustment = -1, .strip = 1}), "\3ab\0\3cd\3ef"s), expected);
    EXPECT_EQ(decodePieces(fields({.length = 1, .adjustment = -1, .strip = 1}), {"\3ab\0"s, "\3cd\3ef"s}), expected)
        << "nor what comes later";
    // The frame is shorter than the number of bytes to strip.
    EXPECT_EQ(decodeWhole(fields({.length = 1, .strip = 3}), "\4ccab\1x\3cc1"s), expected);
    // The most negative adjustment; the field's value does not make up for it.
    EXPECT_EQ(decodeWhole(fields({.length = 4, .adjustment = INT32_MIN}), number(0x7fffffff, 4)),
              Outcome{"!corrupted"});
}

TEST(LengthFieldBasedFrameDecoder, D7_TheValueIsUnsigned) {
    EXPECT_EQ(decodeWhole(fields({.maxFrameLength = 300, .length = 1, .strip = 1}), "\xc8"s + std::string(200, 'x')),
              Outcome{std::string(200, 'x')});
    EXPECT_EQ(decodeWhole(fields({.length = 4}), "\xff\xff\xff\xff"s), Outcome{"!too long"});
}

TEST(LengthFieldBasedFrameDecoder, D7_AFrameThatIsNotCompleteIsDroppedAtTheEnd) {
    EXPECT_EQ(decodeWhole(fields({.length = 1}), "\5ab"s), Outcome{});
    EXPECT_EQ(decodeWhole(fields({.maxFrameLength = 4, .length = 1, .failFast = false}), "\5ab"s),
              Outcome{"!too long"});
}

TEST(LengthFieldBasedFrameDecoder, D7_FramesAreTheSameForAnyCut) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        LengthFieldOptions options;
        options.length = std::vector<unsigned>{1, 2, 3, 4, 8}[random() % 5];
        options.offset = random() % 3;
        options.adjustment = static_cast<int>(random() % 7) - 4;
        options.strip = random() % 4;
        options.maxFrameLength = options.offset + options.length + random() % 12;
        options.failFast = random() % 2;
        options.byteOrder = random() % 2 ? std::endian::big : std::endian::little;
        std::string input;
        for (int i = 0; i < 12; ++i) {
            const std::uint64_t value = random() % 10 == 0 ? random() : random() % 8;
            input += test::randomText(random, "MN", options.offset) + number(value, options.length, options.byteOrder) +
                     test::randomText(random, "abc", value % 16);
        }
        if (options.strip > options.maxFrameLength) continue;
        test::expectSameForAnyCut(fields(options), input, seed);
    }
}

TEST(LengthFieldBasedFrameDecoder, D7_BadOptionsAreRefused) {
    EXPECT_THROW(LengthFieldBasedFrameDecoder({.maxFrameLength = 0}), std::invalid_argument);
    EXPECT_THROW(LengthFieldBasedFrameDecoder({.maxFrameLength = std::size_t{2} << 30}), std::invalid_argument);
    EXPECT_THROW(LengthFieldBasedFrameDecoder({.length = 0}), std::invalid_argument);
    EXPECT_THROW(LengthFieldBasedFrameDecoder({.length = 5}), std::invalid_argument);
    EXPECT_THROW(LengthFieldBasedFrameDecoder({.maxFrameLength = 10, .offset = 7, .length = 4}), std::invalid_argument);
    EXPECT_THROW(LengthFieldBasedFrameDecoder({.offset = ~std::size_t{0}}), std::invalid_argument);
    EXPECT_THROW(LengthFieldBasedFrameDecoder({.maxFrameLength = 10, .strip = 11}), std::invalid_argument);
    EXPECT_NO_THROW(LengthFieldBasedFrameDecoder({.maxFrameLength = 10, .offset = 6, .length = 4, .strip = 10}));
}

// ---- the prepender ----

TEST(LengthFieldPrepender, PutsTheLengthInFront) {
    EmbeddedChannel channel(std::make_unique<LengthFieldPrepender>(LengthPrependOptions{.length = 2}));
    channel.writeOutbound(Buffer::copyOf("abc"), Buffer());
    EXPECT_EQ(channel.readOutboundText(), "\0\3abc\0\0"s);
}

TEST(LengthFieldPrepender, CountsItselfAndTheAdjustmentInTheByteOrderAsked) {
    EmbeddedChannel channel(std::make_unique<LengthFieldPrepender>(
        LengthPrependOptions{.length = 4, .adjustment = -1, .includesField = true, .byteOrder = std::endian::little}));
    channel.writeOutbound(Buffer::copyOf("abc"));
    EXPECT_EQ(channel.readOutboundText(), "\6\0\0\0abc"s);
}

TEST(LengthFieldPrepender, ALengthThatDoesNotFitFailsTheWriteAndWritesNothing) {
    EmbeddedChannel channel(std::make_unique<LengthFieldPrepender>(LengthPrependOptions{.length = 1}));
    EXPECT_THROW(channel.writeOutbound(Buffer::copyOf(std::string(256, 'x'))), EncoderException);
    EXPECT_EQ(channel.outboundSize(), 0u);
    EXPECT_TRUE(channel.writeOutbound(Buffer::copyOf(std::string(255, 'x'))));
    EmbeddedChannel negative(std::make_unique<LengthFieldPrepender>(LengthPrependOptions{.adjustment = -4}));
    EXPECT_THROW(negative.writeOutbound(Buffer::copyOf("abc")), EncoderException);
}

TEST(LengthFieldPrepender, OtherMessagesPassAndBadLengthsAreRefused) {
    EmbeddedChannel channel(std::make_unique<LengthFieldPrepender>());
    channel.writeOutbound(7);
    EXPECT_EQ(channel.readOutbound<int>(), 7);
    EXPECT_THROW(LengthFieldPrepender({.length = 6}), std::invalid_argument);
}

TEST(LengthFieldPrepender, TheDecoderTakesOffWhatItPutOn) {
    for (const unsigned length : {1u, 2u, 3u, 4u, 8u}) {
        EmbeddedChannel out(std::make_unique<LengthFieldPrepender>(LengthPrependOptions{.length = length}));
        std::mt19937 random(length);
        Outcome sent;
        for (int i = 0; i < 20; ++i) {
            sent.push_back(test::randomText(random, "abc\n\xff", random() % 256));
            out.writeOutbound(Buffer::copyOf(sent.back()));
        }
        const std::string wire = out.readOutboundText();
        EXPECT_EQ(decodePieces(fields({.length = length, .strip = length}), test::cut(wire, random, 50)), sent);
    }
}

// ---- fixed length ----

TEST(FixedLengthFrameDecoder, D7_AllFramesHaveTheLength) {
    const AddDecoder threes = [](ChannelPipeline& pipeline) { pipeline.addLast<FixedLengthFrameDecoder>(3); };
    EXPECT_EQ(decodeWhole(threes, "abcdefgh"), (Outcome{"abc", "def"}));
    for (unsigned seed = 1; seed <= 20; ++seed) test::expectSameForAnyCut(threes, "abcdefghijklmnopqrst", seed);
    EXPECT_THROW(FixedLengthFrameDecoder(0), std::invalid_argument);
}

}  // namespace
}  // namespace weft
