// The requests of the client codec: their framing, streamed bodies, and which of them it refuses. The responses:
// client_codec_response_test.cpp.
#include <weft/http/client_codec.hpp>

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "pipeline/http/codec_client.hpp"

namespace weft::http {
namespace {

using test::Client;
using test::refusal;

TEST(ClientCodec, WritesRequestsWithTheirFraming) {
    Client client;
    EXPECT_EQ(client.get("/a?b"), "GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(client.ask(ClientRequest(Method::post, "/p", Buffer::copyOf("abc"))),
              "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_EQ(client.ask(ClientRequest(Method::put, "/p")), "PUT /p HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(client.ask(ClientRequest(Method::delete_, "/p")), "DELETE /p HTTP/1.1\r\nHost: h\r\n\r\n");
    const std::string large(5000, 'x');
    EXPECT_TRUE(client.ask(ClientRequest(Method::post, "/p", Buffer::copyOf(large))).ends_with("\r\n\r\n" + large));
    ClientRequest other;
    other.method = "BREW";
    other.headers.add("Host", "pot");
    other.headers.add("TE", "trailers");
    EXPECT_EQ(client.ask(std::move(other)), "BREW / HTTP/1.1\r\nHost: pot\r\nTE: trailers\r\nConnection: TE\r\n\r\n");
    EXPECT_EQ(client.outstanding(), 6u);
}

TEST(ClientCodec, StreamsBodies) {
    Client client;
    ClientRequest chunked(Method::post, "/c");
    chunked.streamed = true;
    EXPECT_EQ(client.ask(std::move(chunked)), "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_EQ(client.ask(Content{Buffer::copyOf("abc")}), "3\r\nabc\r\n");
    EXPECT_EQ(client.ask(Content{Buffer()}), "") << "an empty chunk would end the body";
    const std::string large(5000, 'x');
    EXPECT_EQ(client.ask(Content{Buffer::copyOf(large)}), "1388\r\n" + large + "\r\n");
    auto trailers = std::make_unique<HeaderList>();
    trailers->add("X-Sum", "7");
    EXPECT_EQ(client.ask(LastContent{noTicket, std::move(trailers)}), "0\r\nX-Sum: 7\r\n\r\n");
    ClientRequest sized(Method::post, "/s");
    sized.streamed = sized.hasLength = true;
    sized.contentLength = 5;
    EXPECT_EQ(client.ask(std::move(sized)), "POST /s HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n");
    EXPECT_EQ(client.ask(Content{Buffer::copyOf("abcde")}), "abcde");
    EXPECT_EQ(client.ask(LastContent{}), "");
    EXPECT_EQ(client.get(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
}

TEST(ClientCodec, RefusesWhatCouldSplitARequest) {
    struct Row {
        const char* why;
        void (*spoil)(ClientRequest&);
    };
    const Row rows[] = {
        {"method", [](ClientRequest& r) { r.method = "GE T"; }},
        {"method", [](ClientRequest& r) { r.method = ""; }},
        {"target", [](ClientRequest& r) { r.target = "/a b"; }},
        {"target", [](ClientRequest& r) { r.target = "/a\r\nX: y"; }},
        {"target", [](ClientRequest& r) { r.target = ""; }},
        {"target", [](ClientRequest& r) { r.target = "a"; }},
        {"target", [](ClientRequest& r) { r.target = "*"; }},
        {"target", [](ClientRequest& r) { r.target = "/caf\xc3\xa9"; }},
        {"target", [](ClientRequest& r) { r.method = "CONNECT"; }},
        {"Host", [](ClientRequest& r) { r.headers.add("Host", "a b"); }},
        {"Host", [](ClientRequest& r) { r.headers.add("Host", "a"), r.headers.add("host", "b"); }},
        {"name", [](ClientRequest& r) { r.headers.add("X Y", "a"); }},
        {"name", [](ClientRequest& r) { r.headers.add("", "a"); }},
        {"name", [](ClientRequest& r) { r.headers.add("X:", "a"); }},
        {"value", [](ClientRequest& r) { r.headers.add("X", "a\r\nY: b"); }},
        {"value", [](ClientRequest& r) { r.headers.add("X", std::string("a\0", 2)); }},
        {"Content-Length that differs", [](ClientRequest& r) { r.headers.add("Content-Length", "3"); }},
        {"Content-Length that differs", [](ClientRequest& r) { r.headers.add("Content-Length", "0, 0"); }},
        {"Content-Length that differs",
         [](ClientRequest& r) { r.headers.add("Content-Length", "0"), r.headers.add("content-length", "1"); }},
        {"Content-Length that differs",
         [](ClientRequest& r) { r.streamed = true, r.headers.add("Content-Length", "0"); }},
        {"encoder", [](ClientRequest& r) { r.headers.add("transfer-encoding", "chunked"); }},
        {"encoder", [](ClientRequest& r) { r.streamed = true, r.headers.add("transfer-encoding", "gzip, chunked"); }},
        {"encoder", [](ClientRequest& r) { r.headers.add("Connection", "close, X"); }},
        {"encoder", [](ClientRequest& r) { r.headers.add("Connection", "upgrade"); }},
        {"CONNECT", [](ClientRequest& r) { r.method = "CONNECT", r.target = "b:1", r.body = Buffer::copyOf("x"); }},
    };
    for (const Row& row : rows) {
        Client client;
        ClientRequest request;
        row.spoil(request);
        EXPECT_NE(refusal(client, Message(std::move(request))).find(row.why), std::string::npos) << row.why;
        EXPECT_EQ(client.outstanding(), 0u);
        EXPECT_NE(client.get(), "") << "the connection is as good as before";
    }
    Client nameless{ClientCodecOptions{}};
    EXPECT_NE(refusal(nameless, Message(ClientRequest())).find("Host"), std::string::npos);
    EXPECT_EQ(nameless.ask(ClientRequest(Method::connect, "b:1")), "CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n");
}

TEST(ClientCodec, FramingHeadersThatAgreeWithTheEncoderAreAccepted) {
    Client client;
    ClientRequest post(Method::post, "/p", Buffer::copyOf("abc"));
    post.headers.add("content-length", "3");
    post.headers.add("connection", "Keep-Alive");
    EXPECT_EQ(client.ask(std::move(post)), "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
    ClientRequest get(Method::get, "/g");
    get.headers.add("Content-Length", "0");
    EXPECT_EQ(client.ask(std::move(get)), "GET /g HTTP/1.1\r\nHost: h\r\n\r\n");
    ClientRequest chunked(Method::post, "/c");
    chunked.streamed = true;
    chunked.headers.add("Transfer-Encoding", "Chunked");
    EXPECT_EQ(client.ask(std::move(chunked)), "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.ask(LastContent{});
    ClientRequest last(Method::get, "/l");
    last.headers.add("Connection", "close");
    EXPECT_EQ(client.ask(std::move(last)), "GET /l HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_NE(refusal(client, Message(ClientRequest())).find("no further request"), std::string::npos);
}

TEST(ClientCodec, RefusesRequestsThatHaveNoPlaceOnTheConnection) {
    Client client;
    ClientRequest streamed(Method::post, "/");
    streamed.streamed = true;
    client.ask(std::move(streamed));
    EXPECT_NE(refusal(client, Message(ClientRequest())).find("inside the body"), std::string::npos);
    client.ask(LastContent{});
    EXPECT_NE(refusal(client, Message(Content{Buffer::copyOf("x")})).find("outside the body"), std::string::npos);
    EXPECT_NE(refusal(client, Message(LastContent{})).find("outside the body"), std::string::npos);
    ClientRequest last;
    last.keepAlive = false;
    EXPECT_EQ(client.ask(std::move(last)), "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_NE(refusal(client, Message(ClientRequest())).find("accepts no further request"), std::string::npos);
}

TEST(ClientCodec, ABodyOfAnotherLengthThanPromisedClosesTheConnection) {
    for (const char* body : {"ab", "abcd"}) {
        Client client;
        ClientRequest request(Method::post, "/");
        request.streamed = request.hasLength = true;
        request.contentLength = 3;
        client.ask(std::move(request));
        const ChannelPromise promise = client.channel.channel().newPromise();
        client.channel.channel().write(Message(Content{Buffer::copyOf(body)}), promise);
        client.channel.channel().writeAndFlush(Message(LastContent{}), client.channel.channel().newPromise());
        client.channel.runPendingTasks();
        EXPECT_FALSE(client.channel.active()) << body;
    }
}

TEST(ClientCodec, TrailersThatMustNotBeSentFailThePromiseAndTheBodyStillEnds) {
    Client client;
    ClientRequest request(Method::post, "/");
    request.streamed = true;
    client.ask(std::move(request));
    auto trailers = std::make_unique<HeaderList>();
    trailers->add("Host", "other");
    const ChannelPromise promise = client.channel.channel().newPromise();
    client.channel.channel().writeAndFlush(Message(LastContent{noTicket, std::move(trailers)}), promise);
    client.channel.runPendingTasks();
    EXPECT_EQ(client.channel.readOutboundText(), "0\r\n\r\n");
    EXPECT_FALSE(promise.future().success());
}

}  // namespace
}  // namespace weft::http
