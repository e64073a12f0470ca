// Encoding of response heads, chunk heads, dates and numbers; what the encoder must never write.
#include <weft/http/response_encoder.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include <weft/http/date_cache.hpp>
#include <weft/http/detail/number_text.hpp>

namespace weft::http {
namespace {

using detail::maxDecimalBytes;
using detail::writeDecimal;
using detail::writeHex;

using Headers = std::vector<HeaderView>;

struct Encoded {
    std::string text;
    EncodedHead result;
};

Encoded encode(const ResponseHead& head) {
    std::string room(headBound(head), '#');
    const EncodedHead result = encodeHead(head, room);
    return {room.substr(0, result.size), result};
}

TEST(ResponseEncoder, WritesAPlainResponse) {
    const Headers headers{{"Content-Type", "text/plain"}, {"Server", "weft"}};
    const Encoded encoded = encode({.headers = headers, .contentLength = 13, .date = "Sun, 06 Nov 1994 08:49:37 GMT"});
    EXPECT_EQ(encoded.text,
              "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nServer: weft\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
              "Content-Length: 13\r\n\r\n");
    EXPECT_EQ(encoded.result.framing, BodyFraming::length);
    EXPECT_TRUE(encoded.result.keepAlive);
}

TEST(ResponseEncoder, ChoosesFramingAndConnectionByTheRules) {
    using S = Status;
    using K = BodyKind;
    using F = BodyFraming;
    struct Row {
        const char* name;
        ResponseHead head;
        const char* lines;
        BodyFraming framing;
        bool keepAlive;
    };
    const Row rows[] = {
        {"close",
         {.contentLength = 1, .keepAlive = false},
         "Content-Length: 1\r\nConnection: close\r\n",
         F::length,
         false},
        {"HTTP/1.0 keep",
         {.contentLength = 1, .requestVersion = Version::http10},
         "Content-Length: 1\r\nConnection: keep-alive\r\n",
         F::length,
         true},
        {"HTTP/1.0 close",
         {.requestVersion = Version::http10, .keepAlive = false},
         "Content-Length: 0\r\nConnection: close\r\n",
         F::length,
         false},
        {"empty", {.body = K::none}, "Content-Length: 0\r\n", F::length, true},
        {"chunked", {.body = K::chunked}, "Transfer-Encoding: chunked\r\n", F::chunked, true},
        {"chunked and close",
         {.body = K::chunked, .keepAlive = false},
         "Transfer-Encoding: chunked\r\nConnection: close\r\n",
         F::chunked,
         false},
        {"no chunks in HTTP/1.0",
         {.body = K::chunked, .requestVersion = Version::http10},
         "Connection: close\r\n",
         F::untilClose,
         false},
        {"204", {.status = S::noContent, .contentLength = 5}, "", F::none, true},
        {"204 chunked", {.status = S::noContent, .body = K::chunked}, "", F::none, true},
        {"204 close", {.status = S::noContent, .keepAlive = false}, "Connection: close\r\n", F::none, false},
        {"304", {.status = S::notModified}, "", F::none, true},
        {"304 of known length", {.status = S::notModified, .contentLength = 7}, "Content-Length: 7\r\n", F::none, true},
        {"304 chunked", {.status = S::notModified, .body = K::chunked}, "", F::none, true},
        {"205", {.status = S::resetContent, .contentLength = 5}, "Content-Length: 0\r\n", F::none, true},
        {"205 chunked", {.status = S::resetContent, .body = K::chunked}, "Content-Length: 0\r\n", F::none, true},
        {"205 in HTTP/1.0",
         {.status = S::resetContent, .body = K::chunked, .requestVersion = Version::http10},
         "Content-Length: 0\r\nConnection: keep-alive\r\n",
         F::none,
         true},
        {"205 to HEAD",
         {.status = S::resetContent, .contentLength = 5, .requestMethod = Method::head},
         "Content-Length: 0\r\n",
         F::none,
         true},
        {"HEAD", {.contentLength = 5, .requestMethod = Method::head}, "Content-Length: 5\r\n", F::none, true},
        {"HEAD of unknown length", {.body = K::none, .requestMethod = Method::head}, "", F::none, true},
        {"HEAD chunked",
         {.body = K::chunked, .requestMethod = Method::head},
         "Transfer-Encoding: chunked\r\n",
         F::none,
         true},
        {"HEAD chunked in HTTP/1.0",
         {.body = K::chunked, .requestVersion = Version::http10, .requestMethod = Method::head},
         "Connection: keep-alive\r\n",
         F::none,
         true},
        {"100", {.status = S::continue_, .body = K::none}, "", F::none, true},
        {"103", {.status = S::earlyHints, .contentLength = 3, .keepAlive = false}, "", F::none, false},
        {"tunnel", {.contentLength = 3, .requestMethod = Method::connect}, "", F::none, true},
        {"closed tunnel",
         {.contentLength = 3, .requestMethod = Method::connect, .keepAlive = false},
         "Connection: close\r\n",
         F::untilClose,
         false},
        {"refused tunnel",
         {.status = S::badRequest, .contentLength = 3, .requestMethod = Method::connect},
         "Content-Length: 3\r\n",
         F::length,
         true},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        const Encoded encoded = encode(row.head);
        EXPECT_EQ(encoded.result.error, EncodeError::none);
        EXPECT_EQ(encoded.text, std::string(statusLine(row.head.status)) + row.lines + "\r\n");
        EXPECT_EQ(encoded.result.framing, row.framing);
        EXPECT_EQ(encoded.result.keepAlive, row.keepAlive);
    }
}

TEST(ResponseEncoder, RefusesHeadersThatCouldSplitTheResponse) {
    using namespace std::string_view_literals;
    const std::pair<HeaderView, EncodeError> rows[] = {
        {{"X", "a\r\nSet-Cookie: b"}, EncodeError::badHeaderValue},
        {{"X", "a\rb"}, EncodeError::badHeaderValue},
        {{"X", "a\nb"}, EncodeError::badHeaderValue},
        {{"X", "a\0b"sv}, EncodeError::badHeaderValue},
        {{"X", "\x7f"}, EncodeError::badHeaderValue},
        {{"X", "a value that is long enough\n"}, EncodeError::badHeaderValue},
        {{"X\r\nY", "a"}, EncodeError::badHeaderName},
        {{"", "a"}, EncodeError::badHeaderName},
        {{"X:", "a"}, EncodeError::badHeaderName},
        {{"X Y", "a"}, EncodeError::badHeaderName},
        {{"\xc3\xa9", "a"}, EncodeError::badHeaderName},
        {{"Content-Length", "5"}, EncodeError::wrongLength},
        {{"Content-Length", "00"}, EncodeError::wrongLength},
        {{"Content-Length", "0, 0"}, EncodeError::wrongLength},
        {{"Content-Length", ""}, EncodeError::wrongLength},
        {{"transfer-encoding", "x"}, EncodeError::reservedHeader},
        {{"transfer-encoding", "chunked"}, EncodeError::reservedHeader},
        {{"CONNECTION", "upgrade"}, EncodeError::reservedHeader},
        {{"CONNECTION", "close, X"}, EncodeError::reservedHeader},
        {{"X", "tab\tand caf\xc3\xa9"}, EncodeError::none},
        {{"X_1~", ""}, EncodeError::none},
    };
    for (const auto& [header, error] : rows) {
        const Headers headers{{"First", "1"}, header};
        const Encoded encoded = encode({.headers = headers});
        EXPECT_EQ(encoded.result.error, error) << header.name << ": " << header.value;
        EXPECT_EQ(encoded.text.empty(), error != EncodeError::none);
        EXPECT_FALSE(textOf(error).empty());
    }
    EXPECT_EQ(encode({.date = "now\r\nX: y"}).result.error, EncodeError::badHeaderValue);
}

TEST(ResponseEncoder, AcceptsFramingHeadersThatAgreeWithItsOwnAndWritesEachOnce) {
    const Headers length{{"content-length", "3"}, {"Content-Length", "3"}, {"A", "b"}};
    EXPECT_EQ(encode({.headers = length, .contentLength = 3}).text,
              "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 3\r\n\r\n");
    const Headers close{{"CONNECTION", "Close"}, {"A", "b"}};
    const Encoded closing = encode({.headers = close, .contentLength = 3});
    EXPECT_EQ(closing.text, "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
    EXPECT_FALSE(closing.result.keepAlive);
    const Headers keep{{"Connection", "keep-alive"}};
    EXPECT_EQ(encode({.headers = keep}).text, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    EXPECT_FALSE(encode({.headers = keep, .keepAlive = false}).result.keepAlive) << "the server's decision stands";
    const Headers chunked{{"Transfer-Encoding", "chunked"}};
    EXPECT_EQ(encode({.headers = chunked, .body = BodyKind::chunked}).text,
              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(ResponseEncoder, AnAnswerToHeadMayNameTheLengthOfTheOmittedBody) {
    const Headers headers{{"Content-Length", "1234"}, {"Connection", "close"}};
    const Encoded encoded = encode({.headers = headers, .requestMethod = Method::head});
    EXPECT_EQ(encoded.text, "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(encoded.result.framing, BodyFraming::none);
    EXPECT_EQ(encode({.status = Status::notModified, .headers = headers}).text,
              "HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\nConnection: close\r\n\r\n");
}

TEST(ResponseEncoder, FindsABadByteAtEachPlaceOfATextOfEachLength) {
    for (std::size_t size = 1; size < 50; ++size) {
        for (std::size_t at = 0; at < size; ++at) {
            std::string name(size, 'n');
            std::string value(size, 'v');
            name[at] = ':';
            value[at] = '\n';
            const std::string good(size, 'g');
            const Headers badName{{name, good}};
            const Headers badValue{{good, value}};
            ASSERT_EQ(encode({.headers = badName}).result.error, EncodeError::badHeaderName) << size << " at " << at;
            ASSERT_EQ(encode({.headers = badValue}).result.error, EncodeError::badHeaderValue) << size << " at " << at;
        }
    }
}

TEST(ResponseEncoder, LetsASwitchOfProtocolsNameItsConnectionOption) {
    const Headers headers{{"Connection", "Upgrade"}, {"Upgrade", "websocket"}};
    EXPECT_EQ(encode({.status = Status::switchingProtocols, .headers = headers}).text,
              "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

TEST(ResponseEncoder, RefusesStatusCodesThatCannotBeSent) {
    EXPECT_EQ(encode({.status = Status{99}}).result.error, EncodeError::badStatus);
    EXPECT_EQ(encode({.status = Status{1000}}).result.error, EncodeError::badStatus);
    EXPECT_EQ(encode({.status = Status::continue_, .requestVersion = Version::http10}).result.error,
              EncodeError::interimForHttp10);
}

TEST(ResponseEncoder, SendsUnregisteredCodesWithAnEmptyPhrase) {
    EXPECT_EQ(encode({.status = Status{299}}).text, "HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(encode({.status = Status{999}}).text, "HTTP/1.1 999 \r\nContent-Length: 0\r\n\r\n");
}

TEST(ResponseEncoder, KeepsTheApplicationsOwnDate) {
    const Headers headers{{"date", "Thu, 01 Jan 1970 00:00:00 GMT"}};
    EXPECT_EQ(encode({.headers = headers, .date = "Sun, 06 Nov 1994 08:49:37 GMT"}).text,
              "HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n");
}

TEST(ResponseEncoder, NeverWritesMoreThanItsBoundAndRefusesLess) {
    for (std::size_t size = 0; size < 70; ++size) {
        const std::string name(size + 1, 'n');
        const std::string value(size, 'v');
        const std::string other = value + "x";
        const Headers headers{{name, value}, {other, name}};
        ResponseHead head{.status = Status::requestHeaderFieldsTooLarge,
                          .headers = headers,
                          .contentLength = std::numeric_limits<std::uint64_t>::max(),
                          .date = "Sun, 06 Nov 1994 08:49:37 GMT",
                          .requestVersion = Version::http10};
        const Encoded encoded = encode(head);
        EXPECT_EQ(encoded.result.error, EncodeError::none);
        EXPECT_NE(encoded.text.find("\r\n" + name + ": " + value + "\r\n"), std::string::npos);
        EXPECT_NE(encoded.text.find("Content-Length: 18446744073709551615\r\n"), std::string::npos);
        std::string small(headBound(head) - 1, '#');
        EXPECT_EQ(encodeHead(head, small).error, EncodeError::tooSmall);
    }
}

TEST(ResponseEncoder, WritesChunkHeadsInHex) {
    char room[maxChunkHeadBytes];
    EXPECT_EQ(std::string(room, writeChunkHead(1, room)), "1\r\n");
    EXPECT_EQ(std::string(room, writeChunkHead(26, room)), "1a\r\n");
    EXPECT_EQ(std::string(room, writeChunkHead(~std::uint64_t{0}, room)), "ffffffffffffffff\r\n");
}

TEST(NumberText, WritesTheExtremes) {
    char room[maxDecimalBytes];
    EXPECT_EQ(std::string(room, writeDecimal(0, room)), "0");
    EXPECT_EQ(std::string(room, writeDecimal(~std::uint64_t{0}, room)), "18446744073709551615");
    EXPECT_EQ(std::string(room, writeHex(255, room)), "ff");
}

TEST(Status, HasAPhraseForEveryNamedCodeAndALineForEveryPhrase) {
    EXPECT_EQ(reasonPhrase(Status::ok), "OK");
    EXPECT_EQ(reasonPhrase(Status::requestHeaderFieldsTooLarge), "Request Header Fields Too Large");
    EXPECT_EQ(reasonPhrase(Status::networkAuthenticationRequired), "Network Authentication Required");
    EXPECT_EQ(reasonPhrase(Status{299}), "");
    int named = 0;
    for (unsigned code = 0; code < 1100; ++code) {
        const auto status = static_cast<Status>(code);
        const std::string_view phrase = reasonPhrase(status);
        if (phrase.empty()) continue;
        ++named;
        EXPECT_EQ(statusLine(status), "HTTP/1.1 " + std::to_string(code) + " " + std::string(phrase) + "\r\n");
    }
    EXPECT_EQ(named, 60);
}

TEST(DateCache, WritesImfFixdates) {
    DateCache cache;
    EXPECT_EQ(cache.at(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(cache.at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(cache.at(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
    EXPECT_EQ(cache.at(1709251199), "Thu, 29 Feb 2024 23:59:59 GMT");
    EXPECT_EQ(cache.at(4102444800), "Fri, 01 Jan 2100 00:00:00 GMT");
    EXPECT_EQ(cache.at(-5), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(cache.at(253402300800), "Fri, 31 Dec 9999 23:59:59 GMT");
}

TEST(DateCache, AgreesWithTheSystemForManyTimes) {
    DateCache cache;
    for (std::time_t time = 1; time < 250000000000; time = time * 5 / 4 + 12345) {
        std::tm parts{};
        gmtime_r(&time, &parts);
        char text[64];
        std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
        EXPECT_EQ(cache.at(time), text);
        EXPECT_EQ(cache.at(time).data(), cache.at(time).data());
    }
}

}  // namespace
}  // namespace weft::http
