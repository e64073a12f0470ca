// The lines of a request that its connection, or another one of the carrier, has sent before.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <weft/http/detail/request_head_parser.hpp>

#include "pipeline/http/head_outcomes.hpp"
#include "support/head_reader.hpp"

namespace weft::http::detail {
namespace {

using test::feed;
using test::HeadReader;
using test::newSeed;
using test::pieceOutcome;
using test::randomCuts;
using test::wholeOutcome;

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
            case 7:
            case 8:
            case 9: return (below(2) == 0 ? "X-Correlation-Id: " : "X-Correlation-Number: ") + number + "\r\n";
            default: return "X-" + number + ": " + std::string(below(40), 'v') + "\r\n";
        }
    }
    void refill() {
        lines_ = {below(30) == 0 ? "X-No: host\r\n" : "Host: example.test\r\n"};
        for (std::size_t i = below(18); i > 0; --i) lines_.push_back(line());
        std::swap(lines_[0], lines_[below(2) == 0 ? below(lines_.size()) : 0]);
    }
    void change() {
        const std::size_t at = below(lines_.size() + 1);
        if (at == lines_.size()) return lines_.push_back(line());
        if (below(2) == 0) return changeValue(lines_[at]);
        below(3) == 0 && lines_.size() > 1 ? void(lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(at)))
                                           : void(lines_[at] = line());
    }

    void changeValue(std::string& line) {
        static const std::vector<std::string> values = {"",      " ",     "x",         " y",    " \t z ",
                                                        " a\tb", " \x01", " \xe4\xf6", " 7\x7f"};
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) return;
        const std::string value = below(3) == 0 ? values[below(values.size())]
                                                : " v" + std::to_string(below(100'000)) + std::string(below(40), 'w');
        line = line.substr(0, colon + 1) + value + "\r\n";
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

// The lines that a connection remembers are in memory that other connections fill anew.
TEST(RequestHeadParser, D8_RemembersNoLinesThatOthersMayReplaceByLongerOnes) {
    HeadReader first;
    const std::string small = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    ASSERT_EQ(first.parse(small), Verdict::complete);
    HeadReader limited({.headerSectionBytes = 20, .headerCount = 32}, &first);
    EXPECT_EQ(limited.parse(small), Verdict::complete);
    std::string longer;
    for (int i = 0; i < 8; ++i) {
        HeadReader other({}, &first);
        longer = "GET / HTTP/1.1\r\nHost: example" + std::to_string(i) + ".test\r\n\r\n";
        ASSERT_EQ(other.parse(longer), Verdict::complete);
    }
    limited.reset();
    EXPECT_EQ(limited.parse(longer), Verdict::error);
    EXPECT_EQ(limited.refusal().status, Status::requestHeaderFieldsTooLarge);
}

}  // namespace
}  // namespace weft::http::detail
