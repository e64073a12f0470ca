// Checks the request head parser against the table of cases, with the bytes cut in every way.
#include <weft/http/detail/request_head_parser.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>

#include "pipeline/http/head_outcomes.hpp"
#include "pipeline/http/request_cases.hpp"
#include "support/head_reader.hpp"

namespace weft::http::detail {
namespace {

using test::everyByte;
using test::feed;
using test::HeadReader;
using test::newSeed;
using test::outcomeOf;
using test::pieceOutcome;
using test::randomCuts;
using test::RequestCase;
using test::summaryOf;
using test::wholeOutcome;

TEST(RequestHeadParser, AcceptsWhatTheTableAccepts) {
    for (const RequestCase& request : test::acceptedRequests()) {
        SCOPED_TRACE(request.name);
        HeadReader parser;
        ASSERT_EQ(parser.parse(request.bytes), Verdict::complete) << parser.refusal().reason;
        if (request.summary != "*") {
            EXPECT_EQ(summaryOf(parser.head(), request.bytes), request.summary);
        }
        EXPECT_EQ(std::string_view(request.bytes).substr(parser.head().consumed - 4, 4), "\r\n\r\n");
    }
}

TEST(RequestHeadParser, RefusesWhatTheTableRefusesWithItsStatus) {
    for (const RequestCase& request : test::refusedRequests()) {
        SCOPED_TRACE(request.name);
        HeadReader parser;
        ASSERT_EQ(parser.parse(request.bytes), Verdict::error);
        EXPECT_EQ(codeOf(parser.refusal().status), request.status) << parser.refusal().reason;
        EXPECT_FALSE(parser.refusal().reason.empty());
    }
}

TEST(RequestHeadParser, WaitsForMoreOfAnIncompleteHead) {
    for (const RequestCase& request : test::incompleteRequests()) {
        SCOPED_TRACE(request.name);
        EXPECT_EQ(wholeOutcome(request.bytes), "needMore");
    }
}

TEST(RequestHeadParser, ReachesTheSameOutcomeByteByByte) {
    for (const RequestCase& request : test::allRequests()) {
        SCOPED_TRACE(request.name);
        HeadReader parser;
        const bool huge = request.bytes.size() > 2000;  // an exact copy per prefix would be quadratic
        std::string outcome = "needMore";
        for (std::size_t size = 0; huge && size < request.bytes.size() && outcome == "needMore"; ++size) {
            const std::string_view prefix = std::string_view(request.bytes).substr(0, size);
            outcome = outcomeOf(parser, parser.parse(prefix), prefix);
        }
        if (outcome == "needMore")
            outcome = pieceOutcome(parser, request.bytes,
                                   huge ? std::vector<std::size_t>{} : everyByte(request.bytes.size()));
        EXPECT_EQ(outcome, wholeOutcome(request.bytes));
    }
}

TEST(RequestHeadParser, ReachesTheSameOutcomeSplitAtEachPosition) {
    for (const RequestCase& request : test::allRequests()) {
        SCOPED_TRACE(request.name);
        const std::string whole = wholeOutcome(request.bytes);
        const std::size_t step = request.bytes.size() > 2000 ? 97 : 1;
        for (std::size_t cut = 0; cut <= request.bytes.size(); cut += step) {
            HeadReader parser;
            ASSERT_EQ(pieceOutcome(parser, request.bytes, {cut}), whole) << "cut at " << cut;
        }
    }
}

TEST(RequestHeadParser, ReachesTheSameOutcomeInRandomChunks) {
    const std::uint32_t seed = newSeed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (const RequestCase& request : test::allRequests()) {
        SCOPED_TRACE(request.name);
        const std::string whole = wholeOutcome(request.bytes);
        for (int round = 0; round < 5; ++round) {
            HeadReader parser;
            ASSERT_EQ(pieceOutcome(parser, request.bytes, randomCuts(request.bytes.size(), random)), whole);
        }
    }
}

// Near the end of its input the parser uses slower code, such as one byte at a time. Bytes after the head, or lines
// after the header line in question, keep it on the fast code.
TEST(RequestHeadParser, IgnoresTheFollowingBytes) {
    const std::string next = "GET /the/next/request HTTP/1.1\r\nHost: another.example\r\n\r\n";
    for (const RequestCase& request : test::allRequests()) {
        if (request.status == test::incomplete) continue;
        SCOPED_TRACE(request.name);
        EXPECT_EQ(wholeOutcome(request.bytes + next), wholeOutcome(request.bytes));
    }
}

TEST(RequestHeadParser, GivesTheSameVerdictOnAPrefixHoweverItIsCut) {
    for (const RequestCase& request : test::allRequests()) {
        if (request.bytes.size() > 600) continue;
        SCOPED_TRACE(request.name);
        HeadReader byBytes;
        for (std::size_t size = 0; size <= request.bytes.size(); ++size) {
            const std::string_view prefix = std::string_view(request.bytes).substr(0, size);
            ASSERT_EQ(feed(byBytes, prefix), wholeOutcome(prefix)) << "prefix of " << size;
        }
    }
}

TEST(RequestHeadParser, ReachesTheSameOutcomeForMutatedRequests) {
    const std::uint32_t seed = newSeed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<RequestCase> cases = test::allRequests();
    using namespace std::string_view_literals;
    const std::string_view interesting = "\r\n\t :;,\0\x7f\x80#/*[]AZaz09-"sv;
    const auto below = [&random](std::size_t bound) {
        return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
    };
    HeadReader used;
    for (int round = 0; round < 20000; ++round) {
        std::string bytes = cases[below(cases.size())].bytes;
        if (bytes.size() > 600 || bytes.empty()) continue;
        for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
            const std::size_t at = below(bytes.size());
            if (below(3) == 0) bytes.erase(at, 1 + below(3));
            else bytes.insert(at, 1, interesting[below(interesting.size())]);
            if (bytes.empty()) bytes = "\r";
        }
        if (below(2) == 0) bytes += test::getWith("X-Forwarded-For: 127.0.0.1\r\n");  // see IgnoresTheFollowingBytes
        const std::string whole = wholeOutcome(bytes);
        HeadReader byBytes;
        ASSERT_EQ(pieceOutcome(byBytes, bytes, everyByte(bytes.size())), whole) << testing::PrintToString(bytes);
        used.reset();
        ASSERT_EQ(pieceOutcome(used, bytes, randomCuts(bytes.size(), random)), whole) << testing::PrintToString(bytes);
    }
}

TEST(RequestHeadParser, KeepsItsVerdictUntilReset) {
    HeadReader parser;
    EXPECT_EQ(parser.parse("GET\r\n"), Verdict::error);
    EXPECT_EQ(parser.parse(test::getWith("")), Verdict::error);
    parser.reset();
    EXPECT_EQ(parser.parse(test::getWith("")), Verdict::complete);
    EXPECT_EQ(parser.parse(test::getWith("") + "more"), Verdict::complete);
}

TEST(RequestHeadParser, FindsHeadersByNameInAnyCase) {
    const std::string message = test::getWith("X-One: 1\r\nx-one: 2\r\n");
    HeadReader parser;
    ASSERT_EQ(parser.parse(message), Verdict::complete);
    EXPECT_EQ(parser.head().headers.find("x-ONE", message), "1");
    EXPECT_EQ(parser.head().headers.find("x-two", message), std::nullopt);
}

TEST(RequestHeadParser, D8_ObeysSmallerLimits) {
    HeadReader parser({.requestLineBytes = 20, .headerSectionBytes = 40, .headerCount = 2});
    EXPECT_EQ(parser.parse("GET /aaaaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n"), Verdict::error);
    EXPECT_EQ(parser.refusal().status, Status::uriTooLong);
    parser.reset();
    EXPECT_EQ(parser.parse("GET / HTTP/1.1\r\nHost: a\r\nA: b\r\nC: d\r\n\r\n"), Verdict::error);
    EXPECT_EQ(parser.refusal().reason, "too many headers");
    parser.reset();
    EXPECT_EQ(parser.parse("GET / HTTP/1.1\r\nHost: a\r\nCookie: aaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n"), Verdict::error);
    EXPECT_EQ(parser.refusal().status, Status::requestHeaderFieldsTooLarge);
}

TEST(RequestHeadParser, NamesTheLimitThatIsOutOfRange) {
    try {
        HeadReader parser({.headerCount = 0});
        FAIL() << "no exception";
    } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(), "weft::http::Limits::headerCount is 0; accepted: 1 to 4096");
    }
}

TEST(RequestHeadParser, HasATableOfMoreThan120Cases) {
    EXPECT_GE(test::allRequests().size(), 120U);
    RecordProperty("cases", static_cast<int>(test::allRequests().size()));
}

}  // namespace
}  // namespace weft::http::detail
