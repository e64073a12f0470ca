// How a whole server connection treats good and bad requests: the outcome does not depend on how the bytes are cut, and
// nothing after a refused request is ever served.
#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "pipeline/http/body_cases.hpp"
#include "pipeline/http/codec_server.hpp"
#include "pipeline/http/deliveries.hpp"
#include "pipeline/http/request_cases.hpp"

namespace weft::http {
namespace {

using test::count;
using test::get;
using test::Server;

// Only Date may differ between two runs.
std::string withoutDates(std::string text) {
    constexpr std::string_view name = "\r\nDate: ";
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
        text.erase(at, name.size() + DateCache::textBytes);
    }
    return text;
}

struct Verdict {
    std::string served;   // "METHOD target [body]" of every request that reached the application
    std::string answers;  // bytes on the wire
    bool open = false;    // after the server has ended its output, if it has
    friend bool operator==(const Verdict&, const Verdict&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
        return out << verdict.served << "\n" << verdict.answers << "\nopen: " << verdict.open;
    }
};

// `end`: the client ends its output after the bytes.
Verdict verdictOf(std::string_view bytes, const std::vector<std::size_t>& cuts = {}, bool end = false) {
    Verdict verdict;
    Server server(
        [&](ChannelHandlerContext& ctx, FullRequest& request) {
            verdict.served.append(request.methodText()).append(" ").append(request.target());
            verdict.served.append(" [").append(request.body()).append("]\n");
            Response response = ok(request.path());
            response.to(request);
            ctx.writeAndFlush(Message(std::move(response)));
        },
        {}, 100'000);
    test::deliver(bytes, cuts, [&](std::string_view piece) {
        if (server.channel.channel().open()) server.channel.writeInbound(Buffer::copyOf(piece));
    });
    if (end && server.channel.channel().open()) server.channel.channel().onEof();
    verdict.answers = withoutDates(server.heard());
    server.channel.advanceTimeBy(std::chrono::seconds(3));  // a server that has ended its output lingers for this time
    verdict.open = server.channel.active();
    return verdict;
}

std::uint32_t newSeed() {
    return std::random_device{}();
}

TEST(ServerVerdict, IsTheSameHoweverARequestComes) {
    const std::uint32_t seed = newSeed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (const test::RequestCase& request : test::allRequests()) {
        SCOPED_TRACE(request.name);
        const std::string bytes = get + request.bytes;
        for (const bool end : {false, true}) {
            const Verdict whole = verdictOf(bytes, {}, end);
            std::vector<std::vector<std::size_t>> deliveries{
                test::equalCuts(bytes.size(), bytes.size() > 2000 ? 50 : 1),
                test::randomCuts(bytes.size(), random),
                {1 + random() % bytes.size()}};
            for (const auto& cuts : deliveries) ASSERT_EQ(verdictOf(bytes, cuts, end), whole);
        }
    }
}

TEST(ServerVerdict, IsTheSameHoweverABodyComes) {
    const std::uint32_t seed = newSeed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::string head = "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const test::BodyCase& body : test::chunkedBodies()) {
        SCOPED_TRACE(body.name);
        const std::string bytes = head + body.bytes;
        const Verdict whole = verdictOf(bytes, {}, true);
        test::forEachDelivery(bytes.size(), random, [&](const std::vector<std::size_t>& cuts) {
            ASSERT_EQ(verdictOf(bytes, cuts, true), whole);
        });
    }
}

TEST(ServerVerdict, D8_ARefusedRequestIsAnsweredWithItsStatusAndNothingBehindItIsServed) {
    for (const test::RequestCase& request : test::refusedRequests()) {
        SCOPED_TRACE(request.name);
        const Verdict verdict = verdictOf(get + request.bytes + get);
        EXPECT_EQ(verdict.served, "GET /a []\n");
        EXPECT_EQ(count(verdict.answers, "HTTP/1.1 "), 2u);
        EXPECT_EQ(count(verdict.answers, "HTTP/1.1 " + std::to_string(request.status) + " "), 1u) << verdict.answers;
        EXPECT_EQ(count(verdict.answers, "Connection: close\r\n"), 1u);
        EXPECT_FALSE(verdict.open);
    }
}

TEST(ServerVerdict, D8_ARefusedBodyIsAnsweredAndNothingBehindItIsServed) {
    const std::string head = "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    int refused = 0;
    for (const test::BodyCase& body : test::chunkedBodies()) {
        if (body.outcome[0] != '4') continue;
        SCOPED_TRACE(body.name);
        const Verdict verdict = verdictOf(head + body.bytes + get);
        EXPECT_EQ(verdict.served, "");
        EXPECT_EQ(verdict.answers.substr(0, 13), "HTTP/1.1 " + body.outcome.substr(0, 4)) << verdict.answers;
        EXPECT_EQ(count(verdict.answers, "HTTP/1.1 "), 1u);
        EXPECT_FALSE(verdict.open);
        ++refused;
    }
    EXPECT_GE(refused, 60);
}

TEST(ServerVerdict, AnAcceptedRequestIsServedAndSoIsTheNextOne) {
    for (const test::RequestCase& request : test::acceptedRequests()) {
        const bool body = request.summary.find("length=") != std::string::npos ||
                          request.summary.find("chunked") != std::string::npos;
        const bool last = request.summary.find(" close") != std::string::npos;
        const bool other = request.bytes.starts_with("CONNECT") || request.summary.find("upgrade") != std::string::npos;
        if (body || last || other || request.bytes.find("\r\n\r\nGET") != std::string::npos) continue;
        SCOPED_TRACE(request.name);
        const bool expectation = request.summary.find("expect?") != std::string::npos;
        const Verdict verdict = verdictOf(request.bytes + get);
        EXPECT_EQ(count(verdict.served, "\n"), expectation ? 0u : 2u) << verdict;
        EXPECT_EQ(count(verdict.answers, "HTTP/1.1 200 OK"), expectation ? 0u : 2u) << verdict;
        EXPECT_EQ(verdict.open, !expectation);
    }
}

// ---- smuggling: headers that two parsers could read differently ----

// Spellings of "chunked" that some parsers accept and others overlook.
const std::vector<std::string> codings = {"Transfer-Encoding: chunked",
                                          "transfer-encoding:chunked",
                                          "Transfer-Encoding: CHUNKED",
                                          "Transfer-Encoding : chunked",
                                          "Transfer-Encoding\t: chunked",
                                          " Transfer-Encoding: chunked",
                                          "\tTransfer-Encoding: chunked",
                                          "Transfer-Encoding:\t chunked \t",
                                          "Transfer-Encoding:\x0b"
                                          "chunked",
                                          "Transfer-Encoding: chunked\x0c",
                                          "Transfer-Encoding: chunked\r",
                                          "Transfer-Encoding:\r\n chunked",
                                          "Transfer-Encoding:\n chunked",
                                          "X: y\nTransfer-Encoding: chunked",
                                          "X: y\rTransfer-Encoding: chunked",
                                          "X: y\r\n Transfer-Encoding: chunked",
                                          "X: \"\nTransfer-Encoding: chunked\n\"",
                                          "Transfer-Encoding: \"chunked\"",
                                          "Transfer-Encoding: 'chunked'",
                                          "Transfer-Encoding: xchunked",
                                          "Transfer-Encoding: chunkedx",
                                          "Transfer-Encoding: chunked, identity",
                                          "Transfer-Encoding: identity, chunked",
                                          "Transfer-Encoding: chunked;q=1",
                                          "Transfer-Encoding: chunked, chunked",
                                          "Transfer-Encoding: ,chunked",
                                          "Transfer-Encoding: chunked,",
                                          "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
                                          "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
                                          "Transfer-Encoding: \xff"
                                          "chunked",
                                          "Transfer-Encoding: ch\xc5\xabnked",
                                          "\xffTransfer-Encoding: chunked",
                                          "Transfer-Encoding: cow",
                                          "Transfer-Encoding:",
                                          "Transfer-Encoding chunked"};

const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";

void expectNoSmuggling(const std::string& head, const std::string& payload) {
    const Verdict verdict = verdictOf("POST /outer HTTP/1.1\r\nHost: x\r\n" + head + "\r\n" + payload);
    EXPECT_EQ(count(verdict.served, "GET /smuggled"), 0u) << head;
    EXPECT_EQ(count(verdict.served, "/outer"), 0u) << head;
    EXPECT_EQ(count(verdict.answers, "HTTP/1.1 "), 1u) << head << verdict.answers;
    EXPECT_FALSE(verdict.open) << head;
}

TEST(ServerSmuggling, ALengthAndATransferEncodingInAnySpellingAreRefused) {
    for (const std::string& coding : codings) {
        const std::string chunks = "0\r\n\r\n" + smuggled;
        for (const std::string& length : {std::string("5"), std::to_string(chunks.size())}) {
            expectNoSmuggling("Content-Length: " + length + "\r\n" + coding + "\r\n", chunks);
            expectNoSmuggling(coding + "\r\nContent-Length: " + length + "\r\n", chunks);
        }
    }
}

TEST(ServerSmuggling, TwoLengthsAreRefusedHoweverTheyAreWritten) {
    const std::string all = std::to_string(smuggled.size());
    for (const std::string& first : {std::string("0"), std::string("1"), all}) {
        for (const char* second : {"Content-Length: ", "content-length:", "CONTENT-LENGTH: \t", "Content-Length : ",
                                   " Content-Length: ", "X: y\nContent-Length: ", "X: y\rContent-Length: "}) {
            expectNoSmuggling("Content-Length: " + first + "\r\n" + second + all + "\r\n", smuggled);
            expectNoSmuggling(second + all + "\r\nContent-Length: " + first + "\r\n", smuggled);
        }
    }
    for (const std::string& length : {"0, " + all, all + ", 0", all + "," + all, "+" + all, "-" + all, "0" + all,
                                      "0x" + all, all + ".0", all + " 0", "\"" + all + "\"", all + "\t0", "0 " + all}) {
        expectNoSmuggling("Content-Length: " + length + "\r\n", smuggled);
    }
}

// A name that only resembles one of these headers has no effect for any parser that compares the letters.
TEST(ServerSmuggling, SimilarNamesAreOrdinaryHeaders) {
    for (const char* name : {"Transfer_Encoding", "Transfer-Encoding2", "XTransfer-Encoding", "Transfer.Encoding"}) {
        const std::string body = "0\r\n\r\n" + smuggled;
        const Verdict verdict =
            verdictOf("POST /outer HTTP/1.1\r\nHost: x\r\n" + std::string(name) +
                      ": chunked\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        EXPECT_EQ(verdict.served, "POST /outer [" + body + "]\n") << name;
    }
}

TEST(ServerSmuggling, ABodyOnAnyMethodIsABody) {
    for (const char* method : {"GET", "HEAD", "DELETE", "OPTIONS", "BREW", "get"}) {
        const Verdict verdict = verdictOf(std::string(method) + " /outer HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                                          std::to_string(smuggled.size()) + "\r\n\r\n" + smuggled);
        EXPECT_EQ(verdict.served, std::string(method) + " /outer [" + smuggled + "]\n");
    }
}

}  // namespace
}  // namespace weft::http
