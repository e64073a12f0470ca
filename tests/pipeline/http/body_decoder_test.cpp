// Checks the body decoder against a table of bodies, with the bytes cut in every way.
#include <weft/http/detail/body_decoder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "pipeline/http/body_cases.hpp"

namespace weft::http::detail {
namespace {

// Feeds the bytes in pieces of these sizes and returns the outcome. Omits the data before an error, because a body
// that ends badly is discarded.
template <class NextSize>
std::string outcomeOf(BodyDecoder& decoder, std::string_view bytes, NextSize nextSize) {
    std::string data;
    std::size_t consumed = 0;
    for (std::size_t at = 0;;) {
        const std::size_t size = std::min<std::size_t>(nextSize(), bytes.size() - at);
        const auto copy = std::make_unique<char[]>(size);
        std::copy_n(bytes.data() + at, size, copy.get());
        std::string_view input(copy.get(), size);
        for (;;) {
            const BodyStep step = decoder.decode(input);
            EXPECT_LE(step.consumed, input.size());
            consumed += step.consumed;
            data += step.data;
            input.remove_prefix(step.consumed);
            if (step.event == BodyEvent::error)
                return std::to_string(codeOf(decoder.refusal().status)) + " " + std::string(decoder.refusal().reason);
            if (step.event == BodyEvent::needMore) break;
            if (step.event == BodyEvent::data) {
                EXPECT_FALSE(step.data.empty());
                continue;
            }
            EXPECT_TRUE(decoder.finished());
            std::string text = "end " + data + " consumed=" + std::to_string(consumed);
            for (const HeaderField& field : decoder.trailers())
                text += " " + std::string(field.name.in(decoder.trailerText())) + "=" +
                        std::string(field.value.in(decoder.trailerText()));
            return text;
        }
        EXPECT_TRUE(input.empty()) << "needMore left bytes behind";
        at += size;
        if (at == bytes.size()) return "needMore " + data;
    }
}

std::string chunkedOutcome(std::string_view bytes, std::size_t pieceSize) {
    BodyDecoder decoder;
    decoder.start(BodyKind::chunked);
    return outcomeOf(decoder, bytes, [pieceSize] { return pieceSize; });
}

constexpr std::size_t whole = 1 << 30;

TEST(BodyDecoder, DecodesChunkedBodiesAsTheTableSays) {
    for (const test::BodyCase& body : test::chunkedBodies()) {
        SCOPED_TRACE(body.name);
        const std::string outcome = chunkedOutcome(body.bytes, whole);
        EXPECT_EQ(outcome.substr(0, body.outcome.size()), body.outcome);
    }
}

TEST(BodyDecoder, ReachesTheSameOutcomeInPiecesOfAnySize) {
    for (const test::BodyCase& body : test::chunkedBodies()) {
        SCOPED_TRACE(body.name);
        const std::string expected = chunkedOutcome(body.bytes, whole);
        for (const std::size_t size : {1U, 2U, 3U, 5U, 7U, 11U, 16U, 17U, 64U, 100U, 1000U})
            ASSERT_EQ(chunkedOutcome(body.bytes, size), expected) << "pieces of " << size;
    }
}

TEST(BodyDecoder, ReachesTheSameOutcomeSplitAtEachPosition) {
    for (const test::BodyCase& body : test::chunkedBodies()) {
        SCOPED_TRACE(body.name);
        const std::string expected = chunkedOutcome(body.bytes, whole);
        for (std::size_t cut = 0; cut <= body.bytes.size(); cut += body.bytes.size() > 1000 ? 53 : 1) {
            BodyDecoder decoder;
            decoder.start(BodyKind::chunked);
            bool first = true;
            const auto next = [&] { return std::exchange(first, false) ? cut : whole; };
            ASSERT_EQ(outcomeOf(decoder, body.bytes, next), expected) << "cut at " << cut;
        }
    }
}

TEST(BodyDecoder, ReachesTheSameOutcomeInRandomPiecesWhenReused) {
    const std::uint32_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    BodyDecoder decoder;
    for (int round = 0; round < 5; ++round) {
        for (const test::BodyCase& body : test::chunkedBodies()) {
            decoder.start(BodyKind::chunked);
            ASSERT_EQ(outcomeOf(decoder, body.bytes, [&] { return 1 + random() % 30; }),
                      chunkedOutcome(body.bytes, whole))
                << body.name;
        }
    }
}

TEST(BodyDecoder, HandsOutTheCallersOwnBytes) {
    BodyDecoder decoder;
    decoder.start(BodyKind::chunked);
    const std::string_view input = "5\r\nhello\r\n0\r\n\r\n";
    const BodyStep step = decoder.decode(input);
    EXPECT_EQ(step.event, BodyEvent::data);
    EXPECT_EQ(step.data.data(), input.data() + 3);
    EXPECT_EQ(step.consumed, 8U);
    EXPECT_FALSE(decoder.finished());
}

TEST(BodyDecoder, EndsABodyOfKnownLengthWithItsLastByte) {
    BodyDecoder decoder;
    decoder.start(BodyKind::length, 5);
    BodyStep step = decoder.decode("hel");
    EXPECT_EQ(step.event, BodyEvent::data);
    EXPECT_EQ(step.data, "hel");
    EXPECT_EQ(decoder.decode("").event, BodyEvent::needMore);
    step = decoder.decode("loGET");
    EXPECT_EQ(step.data, "lo");
    EXPECT_EQ(step.consumed, 2U);
    EXPECT_TRUE(decoder.finished());
    step = decoder.decode("GET");
    EXPECT_EQ(step.event, BodyEvent::end);
    EXPECT_EQ(step.consumed, 0U);
}

TEST(BodyDecoder, EndsABodyOfKnownLengthWithItsLastByteInPiecesOfAnySize) {
    for (const std::size_t length : {1U, 2U, 5U}) {
        const std::string body = std::string("hello").substr(0, length);
        for (std::size_t size = 1; size <= length + 4; ++size) {
            BodyDecoder decoder;
            decoder.start(BodyKind::length, length);
            EXPECT_EQ(outcomeOf(decoder, body + "GET /", [size] { return size; }),
                      "end " + body + " consumed=" + std::to_string(length))
                << "pieces of " << size;
        }
    }
}

TEST(BodyDecoder, EndsAtOnceWhenThereIsNoBody) {
    BodyDecoder decoder;
    for (const BodyKind kind : {BodyKind::none, BodyKind::length}) {
        decoder.start(kind, 0);
        EXPECT_TRUE(decoder.finished());
        EXPECT_EQ(decoder.decode("GET").event, BodyEvent::end);
    }
}

TEST(BodyDecoder, StaysRefusedUntilStarted) {
    BodyDecoder decoder;
    decoder.start(BodyKind::chunked);
    EXPECT_EQ(decoder.decode("zz").event, BodyEvent::error);
    const BodyStep again = decoder.decode("0\r\n\r\n");
    EXPECT_EQ(again.event, BodyEvent::error);
    EXPECT_EQ(again.consumed, 0U);
    decoder.start(BodyKind::chunked);
    EXPECT_EQ(decoder.decode("0\r\n\r\n").event, BodyEvent::end);
}

}  // namespace
}  // namespace weft::http::detail
