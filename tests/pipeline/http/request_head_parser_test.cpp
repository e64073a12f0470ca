// Checks the request head parser against the table of cases, with the bytes cut in every way.
#include <weft/pipeline/http/detail/request_head_parser.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>

#include "pipeline/http/request_cases.hpp"
#include "support/head_reader.hpp"

namespace weft::http::detail {
namespace {

using test::HeadReader;
using test::RequestCase;

// A copy in memory of exactly this size, so that a sanitizer sees every read past the end.
class ExactCopy {
  public:
    explicit ExactCopy(std::string_view bytes) : bytes_(new char[bytes.size()]), size_(bytes.size()) {
        std::copy(bytes.begin(), bytes.end(), bytes_.get());
    }
    std::string_view view() const { return {bytes_.get(), size_}; }

  private:
    std::unique_ptr<char[]> bytes_;
    std::size_t size_;
};

std::string summaryOf(const RequestHead& head, std::string_view message) {
    static constexpr const char* forms[] = {"origin", "absolute", "authority", "asterisk"};
    std::string text(head.methodText.in(message));
    if (!isKnown(head.method)) text += "?";
    text += " " + std::string(head.target.in(message)) + (head.version == Version::http11 ? " 1.1 " : " 1.0 ");
    text += forms[static_cast<int>(head.targetForm)];
    text += head.bodyKind == BodyKind::none      ? " none"
            : head.bodyKind == BodyKind::chunked ? " chunked"
                                                 : " length=" + std::to_string(head.contentLength);
    text += head.keepAlive ? " keep" : " close";
    if (!head.hasHost) text += " nohost";
    if (head.expectContinue) text += " expect";
    if (head.expectUnknown) text += " expect?";
    if (head.upgrade) text += " upgrade";
    if (head.targetForm == TargetForm::absolute || head.targetForm == TargetForm::authority)
        text += " authority=" + std::string(head.authority.in(message));
    return text;
}

// All properties of a parsed message as one text.
std::string outcomeOf(const HeadReader& parser, Verdict verdict, std::string_view message) {
    if (verdict == Verdict::needMore) return "needMore";
    if (verdict == Verdict::error)
        return std::to_string(codeOf(parser.refusal().status)) + " " + std::string(parser.refusal().reason);
    const RequestHead& head = parser.head();
    std::string text = summaryOf(head, message) + " consumed=" + std::to_string(head.consumed) +
                       " length=" + std::to_string(head.contentLength) +
                       " authority=" + std::string(head.authority.in(message)) +
                       " path=" + std::string(head.target.in(message).substr(0, head.pathSize));
    for (const HeaderField& field : head.headers)
        text += "\n" + std::string(field.name.in(message)) + "=[" + std::string(field.value.in(message)) + "]";
    return text;
}

std::string feed(HeadReader& parser, std::string_view message) {
    const ExactCopy copy(message);
    const Verdict verdict = parser.parse(copy.view());
    return outcomeOf(parser, verdict, copy.view());
}

std::string wholeOutcome(std::string_view message) {
    HeadReader parser;
    return feed(parser, message);
}

// Delivers growing prefixes that end at these positions, then the whole message; stops at a final verdict.
std::string pieceOutcome(HeadReader& parser, std::string_view message, const std::vector<std::size_t>& cuts) {
    for (const std::size_t cut : cuts) {
        const std::string outcome = feed(parser, message.substr(0, cut));
        if (outcome != "needMore") return outcome;
    }
    return feed(parser, message);
}

std::vector<std::size_t> everyByte(std::size_t size) {
    std::vector<std::size_t> cuts(size);
    for (std::size_t i = 0; i < size; ++i) cuts[i] = i;
    return cuts;
}

std::vector<std::size_t> randomCuts(std::size_t size, std::mt19937& random) {
    std::vector<std::size_t> cuts;
    std::uniform_int_distribution<std::size_t> step(1, std::max<std::size_t>(1, std::min<std::size_t>(40, size)));
    for (std::size_t at = step(random); at < size; at += step(random)) cuts.push_back(at);
    return cuts;
}

std::uint32_t newSeed() {
    return std::random_device{}();
}

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

TEST(RequestHeadParser, ReadsEveryRequestOfAConnectionAsIfItWereTheFirst) {
    const std::string lines = "Host: a.example:80\r\nUser-Agent: x\r\nConnection: keep-alive\r\n\r\n";
    const std::string closing = "Host: a.example:80\r\nUser-Agent: x\r\nConnection: close\r\n\r\n";
    const std::vector<std::string> messages{"GET /a HTTP/1.1\r\n" + lines,
                                            "GET /a HTTP/1.1\r\n" + lines,
                                            "GET /longer/target HTTP/1.1\r\n" + lines,
                                            "GET / HTTP/1.1\r\n" + lines,
                                            "GET / HTTP/1.0\r\n" + lines,
                                            "HEAD /x HTTP/1.1\r\n" + lines + "tail",
                                            "OPTIONS * HTTP/1.1\r\n" + lines,
                                            "GET /b HTTP/1.1\r\n" + lines,
                                            "GET /c HTTP/1.1\r\n" + closing,
                                            "GET http://b/ HTTP/1.1\r\n" + lines,
                                            "POST / HTTP/1.1\r\nContent-Length: 4\r\n" + lines,
                                            "GET /d HTTP/1.1\r\n" + lines,
                                            "GET /e HTTP/1.1\r\nHost: b\r\n\r\n",
                                            "GET /ff HTTP/1.1\r\nHost: b\r\n\r\n",
                                            "GET /ff HTTP/1.1\r\nHost: b\r\nX: y\r\n\r\n",
                                            "BREW /ff HTTP/1.1\r\nHost: b\r\nX: y\r\n\r\n"};
    const std::uint32_t seed = newSeed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    HeadReader parser;
    for (int round = 0; round < 2000; ++round) {
        const std::string& message = messages[random() % messages.size()];
        const bool whole = random() % 4 != 0;
        parser.reset();
        ASSERT_EQ(
            pieceOutcome(parser, message, whole ? std::vector<std::size_t>{} : randomCuts(message.size(), random)),
            wholeOutcome(message))
            << message;
    }
}

// A section of random lines, some of them refused; usually those of the section before with a few changes.
class RandomSections {
  public:
    explicit RandomSections(std::uint32_t seed) : random_(seed) { refill(); }

    std::string next() {
        if (below(20) == 0) refill();
        for (std::size_t changes = below(3); changes > 0; --changes) change();
        std::string text = below(10) == 0 ? "GET /x HTTP/1.0\r\n" : "GET /index HTTP/1.1\r\n";
        for (const std::string& line : lines_) text += line;
        return text + "\r\n";
    }
    std::mt19937& random() { return random_; }

  private:
    std::size_t below(std::size_t most) { return random_() % most; }
    std::string line() {
        const std::string number = std::to_string(below(1000));
        switch (below(14)) {
            case 0: return "Connection: keep-alive\r\n";
            case 1: return below(8) == 0 ? "Connection: close\r\n" : "Accept-Language: de\r\n";
            case 2: return below(8) == 0 ? "Host: b" + number + "\r\n" : "DNT: 1\r\n";
            case 3: return below(8) == 0 ? "Content-Length: 0\r\n" : "X-Empty:\r\n";
            case 4: return below(20) == 0 ? "bad line\r\n" : "X-Blank: \t" + number + " \r\n";
            case 5:
                return below(20) == 0 ? " folded\r\n" : "Cookie: id=" + number + std::string(below(300), 'c') + "\r\n";
            case 6: return below(20) == 0 ? "Upgrade: x\r\n" : "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n";
            default: return "X-" + number + ": " + std::string(below(40), 'v') + "\r\n";
        }
    }
    void refill() {
        lines_ = {below(30) == 0 ? "X-No: host\r\n" : "Host: example.test\r\n"};
        for (std::size_t i = below(18); i > 0; --i) lines_.push_back(line());
    }
    void change() {
        const std::size_t at = below(lines_.size() + 1);
        if (at == lines_.size()) return lines_.push_back(line());
        below(3) == 0 && lines_.size() > 1 ? void(lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(at)))
                                           : void(lines_[at] = line());
    }

    std::mt19937 random_;
    std::vector<std::string> lines_;
};

TEST(RequestHeadParser, ReadsRandomSectionsAsIfEachWereTheFirst) {
    const std::uint32_t seed = newSeed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSections sections(seed);
    HeadReader parsers[3] = {HeadReader(), HeadReader(), HeadReader()};
    for (int round = 0; round < 20'000; ++round) {
        const std::string message = sections.next();
        HeadReader& parser = parsers[sections.random()() % 3];
        const bool whole = sections.random()() % 8 != 0;
        parser.reset();
        ASSERT_EQ(pieceOutcome(parser, message,
                               whole ? std::vector<std::size_t>{} : randomCuts(message.size(), sections.random())),
                  wholeOutcome(message))
            << message;
    }
}

// Each connection sends lines of its own: more than the cache holds, so it replaces entries that connections point to.
TEST(RequestHeadParser, ReadsManyConnectionsOfACarrierAsIfEachWereAlone) {
    constexpr std::size_t connections = 70;
    const auto lines = [](std::size_t of) {
        return "Host: h" + std::to_string(of % 50) + "\r\nX-Number: " + std::to_string(of * 7 % 90) +
               (of % 3 == 0 ? "\r\nConnection: close\r\n\r\n" : "\r\nAccept: a/b\r\n\r\n");
    };
    const std::uint32_t seed = newSeed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<HeadReader> readers(1);
    for (std::size_t i = 1; i < connections; ++i) readers.emplace_back(Limits{}, readers.data());
    for (int round = 0; round < 3000; ++round) {
        const std::size_t of = random() % (round % 2 == 0 ? 8 : connections);
        const std::string message = "GET /" + std::string(random() % 4, 'x') + " HTTP/1.1\r\n" + lines(of);
        readers[of].reset();
        ASSERT_EQ(feed(readers[of], message), wholeOutcome(message)) << message;
    }
}

// A head within the limits of one server of a carrier exceeds the limits of the other.
TEST(RequestHeadParser, D8_RemembersNoLinesThatItsOwnLimitsRefuse) {
    HeadReader generous;
    const std::string message = "GET / HTTP/1.1\r\nHost: a\r\nX: yyy\r\n\r\n";
    ASSERT_EQ(generous.parse(message), Verdict::complete);
    HeadReader few({.headerCount = 1}, &generous);
    EXPECT_EQ(few.parse(message), Verdict::error);
    EXPECT_EQ(few.refusal().reason, "too many headers");
    HeadReader exact({.headerSectionBytes = 17, .headerCount = 2}, &generous);
    EXPECT_EQ(exact.parse(message), Verdict::complete);
    EXPECT_EQ(exact.head().headers.size(), 2U);
    HeadReader shorter({.headerSectionBytes = 16}, &generous);
    EXPECT_EQ(shorter.parse(message), Verdict::error);
    EXPECT_EQ(shorter.refusal().status, Status::requestHeaderFieldsTooLarge);
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
    const HeaderField* field = parser.head().headers.find("x-ONE", message);
    ASSERT_NE(field, nullptr);
    EXPECT_EQ(field->value.in(message), "1");
    EXPECT_EQ(parser.head().headers.find("x-two", message), nullptr);
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
