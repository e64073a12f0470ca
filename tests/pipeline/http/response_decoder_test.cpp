// Checks the response decoder against the table of cases, with the bytes cut in every way.
#include <weft/http/response_decoder.hpp>

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>

#include "pipeline/http/deliveries.hpp"
#include "pipeline/http/response_cases.hpp"

namespace weft::http {
namespace {

using test::ResponseCase;

// Feeds a decoder as a codec does and records all its results.
class Reader {
  public:
    Reader(Method method, bool mayUpgrade) { decoder_.start(method, mayUpgrade); }

    void take(std::string_view bytes) {
        input_ += bytes;
        while (!decoder_.finished() && !decoder_.failed()) {
            const std::string exact = input_;  // so that a sanitizer sees every read past the end
            const ResponseStep step = decoder_.decode(exact);
            EXPECT_LE(step.consumed, input_.size());
            note(step, exact);
            input_.erase(0, step.consumed);
            if (step.event == ResponseEvent::needMore) break;
        }
    }
    // The outcome of all bytes so far, followed by the end of the connection.
    std::string outcome() {
        if (decoder_.failed()) return std::string(decoder_.refusal().reason);
        if (!headSeen_ || (!decoder_.finished() && !decoder_.head().untilClose)) {
            EXPECT_EQ(decoder_.endOfInput(), ResponseEvent::error);
            EXPECT_EQ(decoder_.refusal().reason, "the connection ended before the response was complete");
            return "more";
        }
        EXPECT_EQ(decoder_.endOfInput(), ResponseEvent::end);
        std::string text = text_ + " [" + body_ + "]";
        for (const HeaderField& field : decoder_.body().trailers()) {
            text.append(" ").append(field.name.in(decoder_.body().trailerText()));
            text.append("=").append(field.value.in(decoder_.body().trailerText()));
        }
        return text;
    }
    const std::string& fields() const { return fields_; }
    std::size_t rest() const { return input_.size(); }

  private:
    void note(const ResponseStep& step, std::string_view input) {
        if (step.event == ResponseEvent::data) {
            EXPECT_FALSE(step.data.empty());
            body_ += step.data;
        } else if (step.event == ResponseEvent::interim) {
            text_ += std::to_string(codeOf(decoder_.head().status)) + " ";
        } else if (step.event == ResponseEvent::head) {
            headSeen_ = true;
            text_ += textOf(decoder_.head());
            for (const HeaderField& field : decoder_.head().headers) {
                fields_.append(field.name.in(input)).append("=").append(field.value.in(input)).append("|");
            }
            fields_.append(decoder_.head().reason.in(input));
        }
    }
    static std::string textOf(const ReceivedHead& head) {
        return std::to_string(codeOf(head.status)) +
               (head.switches    ? " switch "
                : head.keepAlive ? " keep "
                                 : " close ") +
               (head.untilClose                      ? "untilClose"
                : head.bodyKind == BodyKind::chunked ? "chunked"
                : head.bodyKind == BodyKind::length  ? "length=" + std::to_string(head.contentLength)
                                                     : "none");
    }

    ReceivedHead head_;
    ResponseDecoder decoder_{head_};
    std::string input_;
    std::string text_;
    std::string fields_;
    std::string body_;
    bool headSeen_ = false;
};

TEST(ResponseDecoder, GivesTheOutcomeOfTheTable) {
    for (const ResponseCase& response : test::allResponses()) {
        SCOPED_TRACE(response.name);
        Reader reader(response.method, response.mayUpgrade);
        reader.take(response.bytes);
        const std::string outcome = reader.outcome();
        EXPECT_EQ(outcome.substr(0, response.outcome.size()), response.outcome);
        if (outcome.find('[') != std::string::npos) {
            EXPECT_EQ(outcome, response.outcome);
            EXPECT_EQ(reader.rest(), response.rest);
        }
    }
}

TEST(ResponseDecoder, ReachesTheSameOutcomeHoweverTheBytesCome) {
    const std::uint32_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (const ResponseCase& response : test::allResponses()) {
        SCOPED_TRACE(response.name);
        Reader whole(response.method, response.mayUpgrade);
        whole.take(response.bytes);
        const std::string expected = whole.outcome() + "|" + whole.fields();
        test::forEachDelivery(response.bytes.size(), random, [&](const std::vector<std::size_t>& cuts) {
            Reader reader(response.method, response.mayUpgrade);
            test::deliver(response.bytes, cuts, [&](std::string_view piece) { reader.take(piece); });
            EXPECT_EQ(reader.outcome() + "|" + reader.fields(), expected) << cuts.size() << " cuts";
        });
    }
}

TEST(ResponseDecoder, IgnoresTheFollowingBytes) {
    for (const ResponseCase& response : test::allResponses()) {
        if (response.outcome == "more" || response.outcome.find("untilClose") != std::string::npos) continue;
        SCOPED_TRACE(response.name);
        Reader alone(response.method, response.mayUpgrade);
        alone.take(response.bytes);
        Reader followed(response.method, response.mayUpgrade);
        followed.take(response.bytes + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        EXPECT_EQ(followed.outcome(), alone.outcome());
    }
}

TEST(ResponseDecoder, ReachesTheSameOutcomeForMutatedResponses) {
    const std::uint32_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<ResponseCase> cases = test::allResponses();
    using namespace std::string_view_literals;
    const std::string_view interesting = "\r\n\t :;,\0\x7f\x80HTP/1.0z"sv;
    for (int round = 0; round < 10'000; ++round) {
        const ResponseCase& from = cases[random() % cases.size()];
        std::string bytes = from.bytes;
        if (bytes.size() > 300 || bytes.empty()) continue;
        for (std::size_t edits = 1 + random() % 3; edits > 0 && !bytes.empty(); --edits) {
            const std::size_t at = random() % bytes.size();
            if (random() % 3 == 0) bytes.erase(at, 1 + random() % 3);
            else bytes.insert(at, 1, interesting[random() % interesting.size()]);
        }
        Reader whole(from.method, from.mayUpgrade);
        whole.take(bytes);
        const std::string expected = whole.outcome();
        for (const auto& cuts : {test::equalCuts(bytes.size(), 1), test::randomCuts(bytes.size(), random)}) {
            Reader reader(from.method, from.mayUpgrade);
            test::deliver(bytes, cuts, [&](std::string_view piece) { reader.take(piece); });
            ASSERT_EQ(reader.outcome(), expected) << testing::PrintToString(bytes);
        }
    }
}

TEST(ResponseDecoder, OneDecoderServesManyResponses) {
    ReceivedHead head;
    ResponseDecoder decoder(head);
    decoder.start(Method::get);
    const std::string bad = "HTTP/1.1 2x0 OK\r\n\r\n";
    EXPECT_EQ(decoder.decode(bad).event, ResponseEvent::error);
    EXPECT_EQ(decoder.decode(bad).event, ResponseEvent::error);
    decoder.start(Method::get);
    const std::string good = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nA: b\r\n\r\nx";
    EXPECT_EQ(decoder.decode(good).event, ResponseEvent::head);
    EXPECT_EQ(decoder.head().headers.size(), 2u);
    EXPECT_EQ(decoder.decode("x").data, "x");
    EXPECT_EQ(decoder.decode("HTTP").event, ResponseEvent::end);
    EXPECT_EQ(decoder.decode("HTTP").consumed, 0u);
    decoder.start(Method::head);
    EXPECT_EQ(decoder.decode(good).event, ResponseEvent::head);
    EXPECT_TRUE(decoder.finished());
    EXPECT_EQ(decoder.head().headers.size(), 2u);
}

// The body that takeWholeBody() returns for a response; empty if it takes none.
std::string wholeBodyOf(std::string_view response, bool& finished) {
    ReceivedHead head;
    ResponseDecoder decoder(head);
    decoder.start(Method::get);
    const ResponseStep step = decoder.decode(response);
    EXPECT_EQ(step.event, ResponseEvent::head);
    const std::string_view body = decoder.takeWholeBody(response.substr(step.consumed));
    finished = decoder.finished();
    if (!finished) {
        EXPECT_EQ(decoder.decode("2\r\nab").event, ResponseEvent::data) << "nothing is consumed";
    }
    return std::string(body);
}

TEST(ResponseDecoder, GivesABodyAtOnceIfAllOfItHasArrived) {
    bool finished = false;
    EXPECT_EQ(wholeBodyOf("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP", finished), "ab");
    EXPECT_TRUE(finished);
    EXPECT_EQ(wholeBodyOf("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nab", finished), "");
    EXPECT_TRUE(finished);
    EXPECT_EQ(wholeBodyOf("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", finished), "");
    EXPECT_FALSE(finished) << "a part of the body is missing";
    EXPECT_EQ(wholeBodyOf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", finished), "");
    EXPECT_FALSE(finished) << "chunks need decode()";
    EXPECT_EQ(wholeBodyOf("HTTP/1.1 200 OK\r\n\r\nab", finished), "");
    EXPECT_FALSE(finished) << "the end of the connection ends it";
}

TEST(ResponseDecoder, ObeysSmallerLimits) {
    ReceivedHead head;
    EXPECT_THROW(ResponseDecoder(head, {.headerCount = 0}), std::invalid_argument);
    const auto refusal = [&head](const Limits& limits, std::string_view bytes) {
        ResponseDecoder decoder(head, limits);
        decoder.start(Method::get);
        EXPECT_EQ(decoder.decode(bytes).event, ResponseEvent::error);
        EXPECT_EQ(decoder.refusal().status, Status::requestHeaderFieldsTooLarge);
        return std::string(decoder.refusal().reason);
    };
    EXPECT_EQ(refusal({.requestLineBytes = 16}, "HTTP/1.1 200 OKOK\r\n\r\n"), "status line too long");
    EXPECT_EQ(refusal({.headerCount = 1}, "HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n"), "too many headers");
    EXPECT_EQ(refusal({.headerSectionBytes = 16}, "HTTP/1.1 200 OK\r\nA: bbbbbbbbbbbbbbbb\r\n\r\n"),
              "header section too large");
    EXPECT_EQ(refusal({.headerSectionBytes = 16}, "HTTP/1.1 100 C\r\n\r\nHTTP/1.1"), "interim responses too large");
}

}  // namespace
}  // namespace weft::http
