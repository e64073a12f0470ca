// The body decoder against a table of bodies, in every way of delivery.
#include <weft/pipeline/http/body_decoder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

namespace weft::http {
namespace {

struct BodyCase {
    std::string name;
    std::string bytes;
    std::string outcome;  // "end" and the data, "needMore" and the data, or the refusing status
};

// Feeds the bytes in pieces of these sizes and says what came of it. Data that precede an error are left out: a body
// that ends badly is thrown away.
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

std::vector<BodyCase> bodies() {
    using namespace std::string_literals;
    std::vector<BodyCase> cases{
        {"empty", "0\r\n\r\n", "end "},
        {"one chunk", "5\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"two chunks", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "end hello world"},
        {"next request behind", "1\r\na\r\n0\r\n\r\nGET / HTTP/1.1\r\n", "end a consumed=11"},
        {"capital digits", "A\r\n0123456789\r\n0\r\n\r\n", "end 0123456789"},
        {"small digits", "a\r\n0123456789\r\n0\r\n\r\n", "end 0123456789"},
        {"leading zeros", "0005\r\nhello\r\n000\r\n\r\n", "end hello"},
        {"line ends as data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "end \r\n\r\n"},
        {"extension", "5;a\r\nhello\r\n0;b=c\r\n\r\n", "end hello"},
        {"quoted extension", "5;a=\"x;y\\\"\t \xe9\"\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"empty quoted extension", "5;a=\"\"\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"several extensions", "5;a;b=c;d=\"e\";f\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"bad white space that leads to something", "5 ; a = b\t;\tc\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"trailer", "0\r\nX-Sum:  abc \r\n\r\n", "end  consumed=19 X-Sum=abc"},
        {"two trailers", "1\r\na\r\n0\r\nA: 1\r\nB:\r\n\r\n", "end a consumed=21 A=1 B="},
        {"unfinished size", "5", "needMore "},
        {"unfinished data", "5\r\nhel", "needMore hel"},
        {"unfinished end", "0\r\n\r", "needMore "},
        {"unfinished wrong trailer", "0\r\nbad", "needMore "},

        {"empty size", "\r\n\r\n", "400 bad chunk size"},
        {"size of an extension only", ";a\r\n", "400 bad chunk size"},
        {"plus sign", "+5\r\nhello\r\n", "400 bad chunk size"},
        {"minus sign", "-5\r\nhello\r\n", "400 bad chunk size"},
        {"0x", "0x5\r\nhello\r\n", "400 bad chunk size"},
        {"no digit", "g\r\n", "400 bad chunk size"},
        {"digit and letter", "5g\r\n", "400 bad chunk size"},
        {"underscore", "1_0\r\n", "400 bad chunk size"},
        {"comma", "5,5\r\n", "400 bad chunk size"},
        {"blank before", " 5\r\nhello\r\n", "400 bad chunk size"},
        {"HTAB before", "\t5\r\nhello\r\n", "400 bad chunk size"},
        {"blank after", "5 \r\nhello\r\n", "400 bad chunk extension"},
        {"HTAB after", "5\t\r\nhello\r\n", "400 bad chunk extension"},
        {"blank inside", "5 0\r\n", "400 bad chunk extension"},
        {"NUL after", "5\0\r\n"s, "400 bad chunk size"},
        {"overflow by one digit", "10000000000000000\r\n", "400 chunk size too large"},
        {"overflow into the sign", "8000000000000000\r\n", "400 chunk size too large"},
        {"overflow of 32 bits is kept", "100000000\r\nx", "needMore x"},
        {"bare LF after size", "5\nhello\r\n0\r\n\r\n", "400 bad chunk size"},
        {"bare CR after size", "5\rhello\r\n0\r\n\r\n", "400 CR without LF"},
        {"CR CR LF after size", "5\r\r\nhello\r\n", "400 CR without LF"},
        {"data too long", "3\r\nhello\r\n0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"data too short", "6\r\nhello\r\n0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"LF after data", "5\r\nhello\n0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"CR after data", "5\r\nhello\r0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"nothing after data", "5\r\nhello0\r\n\r\n", "400 chunk data is not followed by CRLF"},
        {"extra line after data", "5\r\nhello\r\n\r\n0\r\n\r\n", "400 bad chunk size"},
        {"extension without name", "5;\r\n", "400 bad chunk extension"},
        {"extension with empty name", "5;;a\r\n", "400 bad chunk extension"},
        {"extension with value only", "5;=a\r\n", "400 bad chunk extension"},
        {"extension with empty value", "5;a=\r\n", "400 bad chunk extension"},
        {"extension with bad name", "5;a@b\r\n", "400 bad chunk extension"},
        {"extension with bad value", "5;a=b(c\r\n", "400 bad chunk extension"},
        {"extension with blank at the end", "5;a \r\n", "400 bad chunk extension"},
        {"extension value with blank at the end", "5;a=b \r\n", "400 bad chunk extension"},
        {"extension with two values", "5;a=b c\r\n", "400 bad chunk extension"},
        {"bare LF in an extension", "5;a\nhello\r\n", "400 bad chunk extension"},
        {"bare CR in an extension", "5;a\rb\r\n", "400 CR without LF"},
        {"line end in quotes", "5;a=\"\r\n\"\r\n", "400 bad chunk extension"},
        {"LF in quotes", "5;a=\"\n\"\r\n", "400 bad chunk extension"},
        {"escaped LF in quotes", "5;a=\"\\\n\"\r\n", "400 bad chunk extension"},
        {"text after quotes", "5;a=\"b\"c\r\n", "400 bad chunk extension"},
        {"open quotes", "5;a=\"b\r\n", "400 bad chunk extension"},
        {"long size line", "5;" + std::string(254, 'a') + "\r\nhello\r\n0\r\n\r\n", "end hello"},
        {"too long size line", "5;" + std::string(255, 'a') + "\r\nhello\r\n0\r\n\r\n", "400 chunk-size line too long"},
        {"endless zeros", std::string(300, '0'), "400 chunk-size line too long"},

        {"trailer without colon", "0\r\nbad\r\n\r\n", "400 header line without a colon"},
        {"trailer with blank before the colon", "0\r\nX : y\r\n\r\n", "400 white space between header name and colon"},
        {"folded trailer", "0\r\nX: y\r\n z\r\n\r\n", "400 header line begins with white space"},
        {"trailer with bare LF", "0\r\nX: y\n\r\n", "400 a line ends with LF without CR"},
        {"trailer with bare CR", "0\r\nX: y\rz\r\n\r\n", "400 CR without LF"},
        {"trailer with NUL", "0\r\nX: \0\r\n\r\n"s, "400 control character"},
        {"bare LF as the end", "0\r\n\n", "400 a line ends with LF without CR"},
        {"bare LF after the last size", "0\n\r\n", "400 bad chunk size"},
        {"trailers too large", "0\r\nX: " + std::string(9000, 'x') + "\r\n\r\n", "431 trailer section too large"},
        {"too many trailers",
         "0\r\n" +
             [] {
                 std::string lines;
                 for (int i = 0; i < 129; ++i) lines += "X: y\r\n";
                 return lines;
             }() +
             "\r\n",
         "431 too many trailers"},
        {"request as trailers", "0\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n", "400 header line without a colon"},
    };
    for (const char* name :
         {"Content-Length", "content-length", "TRANSFER-ENCODING", "Host", "Connection", "Expect", "TE", "Trailer",
          "Upgrade", "Authorization", "Cookie", "Set-Cookie", "Content-Type", "Content-Encoding"})
        cases.push_back(
            {std::string("trailer ") + name, "0\r\n" + std::string(name) + ": 1\r\n\r\n", "400 forbidden trailer"});
    std::string flood;
    for (int i = 0; i < 100; ++i) flood += "1;" + std::string(200, 'e') + "\r\nx\r\n";
    cases.push_back({"flood of extensions", flood, "400 too many bytes of chunk extensions"});
    return cases;
}

TEST(BodyDecoder, DecodesChunkedBodiesAsTheTableSays) {
    for (const BodyCase& body : bodies()) {
        SCOPED_TRACE(body.name);
        const std::string outcome = chunkedOutcome(body.bytes, whole);
        EXPECT_EQ(outcome.substr(0, body.outcome.size()), body.outcome);
    }
}

TEST(BodyDecoder, ReachesTheSameOutcomeInPiecesOfAnySize) {
    for (const BodyCase& body : bodies()) {
        SCOPED_TRACE(body.name);
        const std::string expected = chunkedOutcome(body.bytes, whole);
        for (const std::size_t size : {1U, 2U, 3U, 5U, 7U, 11U, 16U, 17U, 64U, 100U, 1000U})
            ASSERT_EQ(chunkedOutcome(body.bytes, size), expected) << "pieces of " << size;
    }
}

TEST(BodyDecoder, ReachesTheSameOutcomeSplitAtEachPosition) {
    for (const BodyCase& body : bodies()) {
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
        for (const BodyCase& body : bodies()) {
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
}  // namespace weft::http
