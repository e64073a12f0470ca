#include "client_response_parser.hpp"

#include <string>

#include <gtest/gtest.h>
#include <weft/pipeline/buffer_pool.hpp>

namespace weft::http {
namespace {

constexpr std::size_t maxBody = 64;

// Everything that a parser made of some bytes, as text, to compare different ways of cutting them.
struct Outcome {
    std::string text;
    std::size_t consumed = 0;
};

Outcome parse(std::string_view bytes, std::size_t step, bool end) {
    ClientResponse response;
    ClientResponseParser parser(response, maxBody);
    Outcome outcome;
    while (outcome.consumed < bytes.size() && !parser.complete() && !parser.failed()) {
        const std::string_view piece = bytes.substr(outcome.consumed, step);
        outcome.consumed += parser.feed(piece);
    }
    if (end) parser.endOfInput();
    if (parser.failed()) {
        outcome.text = std::string("fault: ").append(parser.reason());
        outcome.consumed = 0;  // unspecified after a fault
    } else if (!parser.complete()) {
        outcome.text = "more";
    } else {
        outcome.text = parser.keepAlive() ? "keep " : "close ";
        outcome.text += std::to_string(codeOf(response.status())) + " " + std::string(response.reason());
        for (std::size_t i = 0; i < response.headerCount(); ++i) {
            outcome.text +=
                "|" + std::string(response.headerAt(i).name) + "=" + std::string(response.headerAt(i).value);
        }
        outcome.text += "|" + std::string(response.body());
    }
    return outcome;
}

// The outcome of the whole; checks that every way of cutting it gives the same.
std::string outcomeOf(std::string_view bytes, bool end = true, std::size_t extra = 0) {
    const Outcome whole = parse(bytes, bytes.size(), end);
    for (std::size_t step = 1; step < bytes.size(); ++step) {
        const Outcome cut = parse(bytes, step, end);
        EXPECT_EQ(cut.text, whole.text) << "in pieces of " << step;
        EXPECT_EQ(cut.consumed, whole.consumed) << "in pieces of " << step;
    }
    if (whole.text.substr(0, 5) != "fault") {
        EXPECT_EQ(whole.consumed, bytes.size() - extra);
    }
    return whole.text;
}

TEST(ClientResponseParserTest, TakesTheThreeKindsOfBodies) {
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), "keep 200 OK|Content-Length=3|abc");
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
              "keep 200 OK|Transfer-Encoding=Chunked|abc");
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 OK\r\n\r\nabc"), "close 200 OK|abc");
}

// The body of a response whose head has one header with `headerBytes` of value.
Buffer bodyAfterHead(std::size_t headerBytes) {
    ClientResponse response;
    ClientResponseParser parser(response, maxBody);
    parser.feed("HTTP/1.1 200 OK\r\nX: " + std::string(headerBytes, 'x') + "\r\nContent-Length: 1\r\n\r\na");
    EXPECT_TRUE(parser.complete());
    EXPECT_EQ(response.header("X"), std::string(headerBytes, 'x'));
    return response.takeBody();
}

TEST(ClientResponseParserTest, AHeadAndABodyThatArriveTogetherTakeOneBlock) {
    const std::int64_t before = BufferPool::liveBlocks();
    ClientResponse response;
    ClientResponseParser parser(response, maxBody);
    parser.feed("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_EQ(BufferPool::liveBlocks(), before + 1);
    Buffer body = response.takeBody();
    body.append("d");
    EXPECT_EQ(body.view(), "abcd");
    EXPECT_EQ(response.reason(), "OK");
}

TEST(ClientResponseParserTest, AShortBodyDoesNotKeepTheBlockOfALongHead) {
    EXPECT_EQ(bodyAfterHead(100).view(), "a");
    const Buffer body = bodyAfterHead(8'000);
    EXPECT_EQ(body.view(), "a");
    EXPECT_LT(body.heldBytes(), 4'096u);
}

TEST(ClientResponseParserTest, SomeAnswersHaveNoBody) {
    EXPECT_EQ(outcomeOf("HTTP/1.1 204 No Content\r\n\r\n", false), "keep 204 No Content|");
    EXPECT_EQ(outcomeOf("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", false),
              "keep 304 Not Modified|Content-Length=9|");
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false), "keep 200 OK|Content-Length=0|");
}

TEST(ClientResponseParserTest, TheAnswerToAHeadHasNoBody) {
    ClientResponse response;
    ClientResponseParser parser(response, maxBody, Method::head);
    const std::string_view bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    EXPECT_EQ(parser.feed(bytes), bytes.size());
    EXPECT_TRUE(parser.complete());
    EXPECT_EQ(response.body(), "");
}

TEST(ClientResponseParserTest, StopsAtTheEndOfTheResponse) {
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc", true, 2), "keep 200 OK|Content-Length=1|a");
    EXPECT_EQ(outcomeOf("HTTP/1.1 204 \r\n\r\nHTTP/1.1", true, 8), "keep 204 |");
}

TEST(ClientResponseParserTest, SkipsInterimResponses) {
    EXPECT_EQ(
        outcomeOf("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 N\r\n\r\n"),
        "keep 204 N|");
    EXPECT_EQ(outcomeOf("HTTP/1.1 101 Switching\r\n\r\n"),
              "fault: 101 Switching Protocols in response to a request without Upgrade");
}

TEST(ClientResponseParserTest, KnowsWhetherTheConnectionLivesOn) {
    const std::string length = "Content-Length: 0\r\n\r\n";
    EXPECT_EQ(outcomeOf("HTTP/1.1 200\r\nConnection: x, Close\r\n" + length).substr(0, 5), "close");
    EXPECT_EQ(outcomeOf("HTTP/1.0 200\r\n" + length).substr(0, 5), "close");
    EXPECT_EQ(outcomeOf("HTTP/1.0 200\r\nConnection: Keep-Alive\r\n" + length).substr(0, 5), "keep ");
    EXPECT_EQ(outcomeOf("HTTP/1.1 200\r\nConnection: close-not\r\n" + length).substr(0, 5), "keep ");
}

TEST(ClientResponseParserTest, ValuesAreTrimmedAndKeepTheirBytes) {
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 A B\r\nX:\t a\tb \xff \r\nY:\r\nContent-Length:0\r\n\r\n"),
              "keep 200 A B|X=a\tb \xff|Y=|Content-Length=0|");
}

TEST(ClientResponseParserTest, RefusesWhatIsMalformed) {
    const auto refused = [](const std::string& bytes) {
        const std::string outcome = outcomeOf(bytes);
        EXPECT_EQ(outcome.substr(0, 6), "fault:") << bytes;
    };
    for (const char* line :
         {"HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1  200 OK", "HTTP/1.1 099 Low", "HTTP/11 200 OK",
          "HTTP/2.0 200 OK", "http/1.1 200 OK", "HTTP/1.1\t200 OK", "HTTP/1.1 200 O\x01K", "", "ICY 200 OK"}) {
        refused(std::string(line) + "\r\nContent-Length: 0\r\n\r\n");
    }
    for (const char* field :
         {"Content-Length: 1\r\nContent-Length: 1", "Content-Length: +1", "Content-Length: 1, 1",
          "Content-Length:", "Content-Length: 99999999999999999999", "Content-Length: 9223372036854775808",
          "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity",
          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 1",
          "X : y", "X y", ": y", "X: y\r\n folded",
          "X: a\x7f"
          "b",
          "X: a\nb", "X: a\rb", "(X): y"}) {
        refused("HTTP/1.1 200 OK\r\n" + std::string(field) + "\r\n\r\nab");
    }
    refused("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n");
}

TEST(ClientResponseParserTest, AnEarlyEndIsAFault) {
    const std::string fault = "fault: the connection ended before the response was complete";
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 OK\r\nContent-Le"), fault);
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"), fault);
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"), fault);
    EXPECT_EQ(outcomeOf(""), fault);
}

TEST(ClientResponseParserTest, HasLimits) {
    const std::string large = "fault: the response body is larger than this call allows";
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 OK\r\nContent-Length: 65\r\n\r\n"), large);
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 OK\r\n\r\n" + std::string(65, 'x')), large);
    EXPECT_EQ(outcomeOf("HTTP/1.1 200 OK\r\n\r\n" + std::string(64, 'x')), "close 200 OK|" + std::string(64, 'x'));

    const std::string start = "HTTP/1.1 204 N\r\n";
    const std::string filler(Limits{}.headerSectionBytes - 5, 'x');  // "X: " and a line end
    EXPECT_EQ(parse(start + "X: " + filler + "\r\n\r\n", 100'000, true).text.substr(0, 4), "keep");
    EXPECT_EQ(parse(start + "X: x" + filler + "\r\n\r\n", 100'000, true).text, "fault: header section too large");
    EXPECT_EQ(parse(start + "X: x" + filler + "\r\n\r\n", 1, true).text, "fault: header section too large");
    std::string many = start;
    for (std::size_t i = 0; i <= Limits{}.headerCount; ++i) many += "X: y\r\n";
    EXPECT_EQ(parse(many + "\r\n", 100'000, true).text, "fault: too many headers");
    std::string interim;
    for (int i = 0; i < 2000; ++i) interim += "HTTP/1.1 102 P\r\n\r\n";
    EXPECT_EQ(parse(interim, 100'000, true).text, "fault: interim responses too large");
}

}  // namespace
}  // namespace weft::http
