// Line and delimiter decoders.
#include <weft/pipeline/codec/delimiter_based_frame_decoder.hpp>
#include <weft/pipeline/codec/line_based_frame_decoder.hpp>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/embedded_channel.hpp>

#include "segmentation.hpp"

namespace weft {
namespace {

using test::AddDecoder;
using test::decodePieces;
using test::decodeWhole;
using test::Outcome;

AddDecoder lines(std::size_t max, bool strip = true, bool failFast = true) {
    return [=](ChannelPipeline& pipeline) { pipeline.addLast<LineBasedFrameDecoder>(max, strip, failFast); };
}

AddDecoder delimiters(std::size_t max, std::vector<std::string> marks, bool strip = true, bool failFast = true) {
    return
        [=](ChannelPipeline& pipeline) { pipeline.addLast<DelimiterBasedFrameDecoder>(max, marks, strip, failFast); };
}

TEST(LineBasedFrameDecoder, D7_LinesEndWithLineFeedOrCarriageReturnLineFeed) {
    EXPECT_EQ(decodeWhole(lines(10), "one\ntwo\r\n\n\r\nth\rree\r\r\nrest"),
              (Outcome{"one", "two", "", "", "th\rree\r"}));
}

TEST(LineBasedFrameDecoder, D7_TheDelimiterStaysWhenItIsNotStripped) {
    EXPECT_EQ(decodeWhole(lines(10, false), "one\ntwo\r\n\n"), (Outcome{"one\n", "two\r\n", "\n"}));
}

TEST(LineBasedFrameDecoder, D7_ALineOfTheGreatestLengthPassesAndOneByteMoreIsTooLongOnce) {
    EXPECT_EQ(decodeWhole(lines(3), "abc\nabcd\nxy\r\nabcd\r\nabc\r\n"),
              (Outcome{"abc", "!too long", "xy", "!too long", "abc"}));
}

TEST(LineBasedFrameDecoder, D7_FailFastReportsAsSoonAsItIsKnownElseAtTheEndOfTheLine) {
    for (const bool failFast : {true, false}) {
        Outcome outcome;
        EmbeddedChannel channel;
        lines(3, true, failFast)(channel.pipeline());
        channel.pipeline().addLast<test::FrameCollector>(outcome);
        channel.writeInbound(Buffer::copyOf("abcdefgh"));
        EXPECT_EQ(outcome.size(), failFast ? 1u : 0u);
        channel.writeInbound(Buffer::copyOf("ijk"), Buffer::copyOf("l\nok\n"));
        EXPECT_EQ(outcome, (Outcome{"!too long", "ok"}));
    }
}

TEST(LineBasedFrameDecoder, D7_ATooLongLineThatNeverEndsIsReportedAtTheEndOfInput) {
    EXPECT_EQ(decodeWhole(lines(3, true, false), "abcdefgh"), (Outcome{"!too long"}));
    EXPECT_EQ(decodeWhole(lines(3, true, true), "abcdefgh"), (Outcome{"!too long"}));
}

// The carriage return may begin a delimiter whose other byte has not arrived.
TEST(LineBasedFrameDecoder, D7_ACarriageReturnAtACutIsNotCountedTooEarly) {
    EXPECT_EQ(decodePieces(lines(3), {"abc\r", "\nabc\r", "d\n"}), (Outcome{"abc", "!too long"}));
}

TEST(LineBasedFrameDecoder, D7_AHostileEndlessLineKeepsNoMemory) {
    EmbeddedChannel channel(std::make_unique<LineBasedFrameDecoder>(100));
    std::size_t errors = 0;
    for (int i = 0; i < 1000; ++i) {
        try {
            channel.writeInbound(Buffer::copyOf(std::string(1000, 'x')));
        } catch (const TooLongFrameException&) {
            ++errors;
        }
    }
    EXPECT_EQ(errors, 1u);
    channel.writeInbound(Buffer::copyOf("\n"));
    channel.pipeline().remove<LineBasedFrameDecoder>();
    EXPECT_EQ(channel.inboundSize(), 0u) << "nothing was kept";
}

TEST(LineBasedFrameDecoder, D7_FramesAreTheSameForAnyCut) {
    for (unsigned seed = 1; seed <= 150; ++seed) {
        std::mt19937 random(seed);
        const std::string input = test::randomText(random, "aab\r\n", 80);
        const bool strip = random() % 2;
        const bool failFast = random() % 2;
        test::expectSameForAnyCut(lines(1 + random() % 8, strip, failFast), input, seed);
    }
}

// Compares with a second implementation that splits the whole text at once.
TEST(LineBasedFrameDecoder, D7_FramesAreThoseOfAReferenceSplitter) {
    for (unsigned seed = 1; seed <= 150; ++seed) {
        std::mt19937 random(seed);
        std::string text = test::randomText(random, "ab\r\n", 100);
        Outcome expected;
        for (std::string rest = text; rest.find('\n') != std::string::npos;) {
            std::string line = rest.substr(0, rest.find('\n'));
            rest.erase(0, line.size() + 1);
            if (!line.empty() && line.back() == '\r') line.pop_back();
            expected.push_back(line.size() <= 5 ? line : "!too long");
        }
        text += '\n';  // so that the text after the last delimiter cannot be too long
        Outcome actual = decodeWhole(lines(5), text);
        ASSERT_GE(actual.size(), expected.size());
        actual.resize(expected.size());
        EXPECT_EQ(actual, expected) << "seed " << seed;
    }
}

TEST(DelimiterBasedFrameDecoder, D7_AnyOfSeveralDelimitersEndsAFrame) {
    EXPECT_EQ(decodeWhole(delimiters(10, {";", "\r\n", "END"}), "a;b\r\nc dENDe;;rest"),
              (Outcome{"a", "b", "c d", "e", ""}));
    EXPECT_EQ(decodeWhole(delimiters(10, {";", "END"}, false), "a;bEND"), (Outcome{"a;", "bEND"}));
}

TEST(DelimiterBasedFrameDecoder, D7_TheDelimiterThatIsCompleteFirstCountsAndTheLongestOfThoseThatEndTogether) {
    EXPECT_EQ(decodeWhole(delimiters(10, {"\n", "\r\n"}), "a\r\nb\n"), (Outcome{"a", "b"}));
    EXPECT_EQ(decodeWhole(delimiters(10, {"\r\n", "\n"}), "a\r\nb\n"), (Outcome{"a", "b"}));
    EXPECT_EQ(decodeWhole(delimiters(10, {"\n\n", "\n"}), "a\n\nb\n"), (Outcome{"a", "", "b"}));
    EXPECT_EQ(decodeWhole(delimiters(10, {"abcd", "c"}), "xabcdc"), (Outcome{"xab", "d"}));
}

TEST(DelimiterBasedFrameDecoder, D7_ADelimiterMayRepeatItsOwnBeginning) {
    EXPECT_EQ(decodePieces(delimiters(10, {"aab"}), {"xaa", "ab", "aa", "b"}), (Outcome{"xa", ""}));
}

TEST(DelimiterBasedFrameDecoder, D7_TooLongIsReportedOnceAndDiscardedToTheNextDelimiter) {
    const Outcome expected{"abc", "!too long", "xyz"};
    EXPECT_EQ(decodePieces(delimiters(3, {"--"}), {"abc--", "abcd", "efgh-", "-xyz--"}), expected);
    EXPECT_EQ(decodeWhole(delimiters(3, {"--"}, true, false), "abc--abcdefgh--xyz--"), expected);
}

TEST(DelimiterBasedFrameDecoder, D7_FramesAreTheSameForAnyCut) {
    const std::vector<std::vector<std::string>> sets{
        {"-"}, {"--"}, {"-", "--"}, {"--", "-a", "a-a"}, {"aaa", "a--"}, {"-a-a", "b"}, {"ab", "b", "-"}};
    for (unsigned seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        const std::string input = test::randomText(random, "ab-", 70);
        const auto& marks = sets[random() % sets.size()];
        test::expectSameForAnyCut(delimiters(1 + random() % 6, marks, random() % 2, random() % 2), input, seed);
    }
}

TEST(DelimiterBasedFrameDecoder, D7_BadArgumentsAreRefusedWithWhatIsAccepted) {
    EXPECT_THROW(DelimiterBasedFrameDecoder(0, {";"}), std::invalid_argument);
    EXPECT_THROW(DelimiterBasedFrameDecoder(10, {}), std::invalid_argument);
    EXPECT_THROW(DelimiterBasedFrameDecoder(10, {";", ""}), std::invalid_argument);
    try {
        LineBasedFrameDecoder decoder(0);
        FAIL() << "0 was accepted";
    } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(), "LineBasedFrameDecoder: maxLength is 0 bytes; accepted: 1 to 2147483647");
    }
}

}  // namespace
}  // namespace weft
