// The reverse proxy as a process, between plain clients and upstreams scripted byte by byte.
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "examples/http_client.hpp"
#include "examples/program.hpp"
#include "framework/http/scripted_backend.hpp"
#include "framework/reserved_port.hpp"

namespace weft::test {
namespace {

using Then = ScriptedAnswer::Then;

Program proxyTo(const SocketAddress& upstream, std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"--listen", "127.0.0.1:0", "--carriers", "1", "--upstream", upstream.toString()});
    return Program("reverse_proxy", std::move(flags));
}

std::string answer(std::string_view body, std::string_view headers = {}) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(headers) +
           "\r\n" + std::string(body);
}

// Everything up to the end of the stream.
std::string all(BlockingPeer& peer) {
    std::string bytes;
    for (std::string more = peer.receive(); !more.empty(); more = peer.receive()) bytes += more;
    return bytes;
}

TEST(ReverseProxyExample, ForwardsRequestsAndAnswersWithoutHopByHopHeaders) {
    ScriptedBackend upstream({{answer("apples", "Content-Type: text/fruit\r\nConnection: X-Here\r\nX-Here: 1\r\n"
                                                "Keep-Alive: timeout=5\r\nVia: 1.1 other\r\n"),
                               Then::close}});
    Program proxy = proxyTo(upstream.address());
    HttpClient client(proxy.listening());
    const HttpAnswer fruits =
        client.request("GET", "/fruits?ripe=1",
                       "Accept: */*\r\nConnection: X-Mine, keep-alive\r\nX-Mine: 1\r\nTE: trailers\r\n"
                       "Upgrade: h2c\r\nProxy-Connection: keep-alive\r\n");
    EXPECT_EQ(fruits.status, 200);
    EXPECT_EQ(fruits.body, "apples");
    EXPECT_EQ(fruits.header("Content-Type"), "text/fruit");
    EXPECT_EQ(fruits.header("X-Here"), "");
    EXPECT_EQ(fruits.header("Keep-Alive"), "");
    EXPECT_NE(fruits.head.find("Via: 1.1 other\r\nVia: 1.1 weft\r\n"), std::string::npos) << fruits.head;
    EXPECT_EQ(upstream.requests()[0],
              "GET /fruits?ripe=1 HTTP/1.1\r\nHost: test\r\nAccept: */*\r\nVia: 1.1 weft\r\n\r\n");
    EXPECT_EQ(proxy.stop(), 0);
    EXPECT_EQ(proxy.complaints(), "");
}

TEST(ReverseProxyExample, RequestsThePathOfAnAbsoluteTargetWithItsHost) {
    ScriptedBackend upstream({{answer("1")}, {answer("2"), Then::close}});
    Program proxy = proxyTo(upstream.address());
    HttpClient client(proxy.listening());
    EXPECT_EQ(client.get("http://shop.test/a?b").body, "1");
    EXPECT_EQ(client.get("http://shop.test:81").body, "2");
    EXPECT_EQ(upstream.requests()[0], "GET /a?b HTTP/1.1\r\nHost: shop.test\r\nVia: 1.1 weft\r\n\r\n");
    EXPECT_EQ(upstream.requests()[1], "GET / HTTP/1.1\r\nHost: shop.test:81\r\nVia: 1.1 weft\r\n\r\n");
    EXPECT_EQ(upstream.connections(), 1);
    EXPECT_EQ(proxy.stop(), 0);
}

TEST(ReverseProxyExample, AnswersWithoutABodyKeepTheirLength) {
    ScriptedBackend upstream({{"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"},
                              {"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n"},
                              {"HTTP/1.1 204 No Content\r\n\r\n"},
                              {answer("last"), Then::close}});
    Program proxy = proxyTo(upstream.address());
    HttpClient client(proxy.listening());
    EXPECT_EQ(client.request("HEAD", "/").header("Content-Length"), "7");
    const HttpAnswer same = client.get("/");
    EXPECT_EQ(same.status, 304);
    EXPECT_EQ(same.header("ETag"), "\"x\"");
    EXPECT_EQ(client.get("/").status, 204);
    EXPECT_EQ(client.get("/").body, "last");
    EXPECT_EQ(proxy.stop(), 0);
}

// The upstream frames it as any other body, so the proxy reads it; its own client must not take it for a response.
TEST(ReverseProxyExample, TheBodyOfAnUpstreams205DoesNotReachTheClient) {
    const std::string forged = answer("forged");
    ScriptedBackend upstream(
        {{"HTTP/1.1 205 Reset Content\r\nContent-Length: " + std::to_string(forged.size()) + "\r\n\r\n" + forged},
         {"HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nforged\r\n0\r\n\r\n"},
         {answer("true"), Then::close}});
    Program proxy = proxyTo(upstream.address());
    BlockingPeer client(proxy.listening());
    std::string text;
    for (const char* path : {"/1", "/2"}) {  // in turn: the upstream serves one connection at a time
        client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n\r\n");
        std::string received;
        while (received.find("\r\n\r\n") == std::string::npos) {
            const std::string more = client.receive();
            ASSERT_FALSE(more.empty()) << text << received;
            received += more;
        }
        text += received;
    }
    client.send("GET /3 HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    text += all(client);
    EXPECT_EQ(text.find("forged"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("\r\n\r\ntrue")) << text;
    EXPECT_EQ(proxy.stop(), 0);
}

TEST(ReverseProxyExample, StreamsLargeBodiesBothWays) {
    Program echo("http_server", {"--listen", "127.0.0.1:0", "--carriers", "1"});
    Program proxy = proxyTo(echo.listening());
    const SocketAddress address = proxy.listening();
    HttpClient client(address);
    const std::string large(1 << 20, 'x');
    EXPECT_EQ(client.request("POST", "/echo", "Content-Length: 1048576\r\n", large).body, large);
    EXPECT_EQ(client.request("POST", "/echo", "Transfer-Encoding: chunked\r\n", "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n").body,
              "abc");
    EXPECT_EQ(client.request("POST", "/echo", "Content-Length: 0\r\n").body, "");
    // The upstream refuses at once; the proxy forwards that and does not wait for the rest.
    HttpClient refused(address);
    refused.send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 1048577\r\n\r\n" + std::string(100, 'x'));
    EXPECT_EQ(refused.receive().status, 413);
    EXPECT_EQ(proxy.stop(), 0);
    EXPECT_EQ(proxy.complaints(), "");
    EXPECT_EQ(echo.stop(), 0);
}

TEST(ReverseProxyExample, AChunkedAnswerComesChunkedWithItsTrailers) {
    ScriptedBackend upstream(
        {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nDigest: d\r\n\r\n", Then::close}});
    Program proxy = proxyTo(upstream.address());
    BlockingPeer client(proxy.listening());
    client.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    const std::string text = all(client);
    EXPECT_NE(text.find("Transfer-Encoding: chunked\r\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\r\n\r\n3\r\nabc\r\n0\r\nDigest: d\r\n\r\n"), std::string::npos) << text;
    EXPECT_EQ(proxy.stop(), 0);
}

TEST(ReverseProxyExample, PipelinedRequestsAreAnsweredInOrder) {
    Program slow("http_server", {"--listen", "127.0.0.1:0", "--carriers", "1"});
    Program proxy = proxyTo(slow.listening());
    HttpClient client(proxy.listening());
    client.send("GET /sleep?ms=50 HTTP/1.1\r\nHost: x\r\n\r\n"
                "GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\n"
                "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(client.receive().body, "slept 50 ms\n");
    EXPECT_EQ(client.receive().body, "Hello, World!");
    EXPECT_EQ(client.receive().status, 404);
    EXPECT_EQ(proxy.stop(), 0);
    EXPECT_EQ(slow.stop(), 0);
}

TEST(ReverseProxyExample, AFailingUpstreamIs502WithItsReasonAndALateOne504) {
    {
        const ReservedPort port;  // nothing listens on it
        const SocketAddress down = port.address();
        Program proxy = proxyTo(down);
        HttpClient client(proxy.listening());
        const HttpAnswer refused = client.get("/x");
        EXPECT_EQ(refused.status, 502);
        EXPECT_NE(refused.body.find("http://" + down.toString() + "/x: cannot connect"), std::string::npos)
            << refused.body;
        EXPECT_EQ(client.get("/y").status, 502);  // the connection stays open
        EXPECT_EQ(proxy.stop(), 0);
        EXPECT_EQ(proxy.complaints(), "");
    }
    {
        ScriptedBackend upstream({{"", Then::close}, {"SSH-2.0\r\n", Then::close}});
        Program proxy = proxyTo(upstream.address());
        HttpClient client(proxy.listening());
        const HttpAnswer early = client.get("/");
        EXPECT_EQ(early.status, 502);
        EXPECT_NE(early.body.find("ended before the response was complete"), std::string::npos) << early.body;
        const HttpAnswer nonsense = client.get("/");
        EXPECT_EQ(nonsense.status, 502);
        EXPECT_NE(nonsense.body.find("does not begin with HTTP/"), std::string::npos) << nonsense.body;
        EXPECT_EQ(proxy.stop(), 0);
        EXPECT_EQ(proxy.complaints(), "");
    }
    ScriptedBackend upstream({{"", Then::hang}});
    Program proxy = proxyTo(upstream.address(), {"--timeout-ms", "500"});
    HttpClient client(proxy.listening());
    const HttpAnswer late = client.get("/");
    EXPECT_EQ(late.status, 504);
    EXPECT_NE(late.body.find("no complete response in time"), std::string::npos) << late.body;
    EXPECT_EQ(proxy.stop(), 0);
    EXPECT_EQ(proxy.complaints(), "");
}

TEST(ReverseProxyExample, AnUpstreamThatHasTheWholeBodyIsLateAfterOneTimeout) {
    // Its second "request" is the body, which ends like a head: then the proxy has taken all of it.
    ScriptedBackend upstream({{"", Then::keep}, {"", Then::hang}});
    Program proxy = proxyTo(upstream.address(), {"--timeout-ms", "1000"});
    const SocketAddress address = proxy.listening();
    BlockingPeer first(address);
    first.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 8\r\n\r\n");
    while (upstream.requests().empty()) std::this_thread::yield();
    first.send("body\r\n\r\n");
    while (upstream.requests().size() < 2) std::this_thread::yield();
    HttpClient second(address);
    for (int turns = 0; turns < 3; ++turns) EXPECT_EQ(second.request("CONNECT", "b:1").status, 501);
    EXPECT_EQ(second.get("/").status, 504);
    EXPECT_TRUE(first.hasInput()) << "its time began before that of the second request";
    EXPECT_TRUE(first.receive().starts_with("HTTP/1.1 504 "));
    EXPECT_EQ(proxy.stop(), 0);
    EXPECT_EQ(proxy.complaints(), "");
}

TEST(ReverseProxyExample, ATruncatedAnswerReachesTheClientTruncated) {
    ScriptedBackend upstream({{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", Then::close}});
    Program proxy = proxyTo(upstream.address());
    BlockingPeer client(proxy.listening());
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    const std::string text = all(client);
    EXPECT_TRUE(text.starts_with("HTTP/1.1 200 OK\r\n")) << text;
    EXPECT_TRUE(text.ends_with("half")) << text;
    EXPECT_EQ(proxy.stop(), 0);
    EXPECT_EQ(proxy.complaints(), "");
}

TEST(ReverseProxyExample, TunnelsAreRefused) {
    ScriptedBackend upstream({{"", Then::close}});
    Program proxy = proxyTo(upstream.address());
    HttpClient client(proxy.listening());
    EXPECT_EQ(client.request("CONNECT", "b:1").status, 501);
    EXPECT_EQ(proxy.stop(), 0);
    EXPECT_TRUE(upstream.requests().empty());
}

TEST(ReverseProxyExample, AClientThatVanishesCancelsItsRequest) {
    ScriptedBackend upstream({{"", Then::hang}, {"", Then::hang}, {answer("next"), Then::close}});
    Program proxy = proxyTo(upstream.address());
    const SocketAddress address = proxy.listening();
    BlockingPeer gone(address);
    gone.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    while (upstream.requests().empty()) std::this_thread::yield();
    gone.reset();
    // The upstream serves one connection at a time: reading the next request proves that the first one was closed.
    BlockingPeer polite(address);
    polite.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    while (upstream.requests().size() < 2) std::this_thread::yield();
    polite.close();  // an orderly end
    HttpClient client(address);
    EXPECT_EQ(client.get("/").body, "next");
    EXPECT_EQ(proxy.stop(), 0);
    EXPECT_EQ(proxy.complaints(), "");
}

TEST(ReverseProxyExample, ASignalLetsRequestsInProgressBeAnswered) {
    Program slow("http_server", {"--listen", "127.0.0.1:0", "--carriers", "1"});
    Program proxy = proxyTo(slow.listening());
    const SocketAddress address = proxy.listening();
    HttpClient busy(address);
    busy.send("GET /plaintext HTTP/1.1\r\nHost: x\r\n\r\nGET /sleep?ms=1000 HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(busy.receive().status, 200);  // so the other request of the same segment is in progress too
    proxy.signal(SIGTERM);
    const HttpAnswer answer = busy.receive();
    EXPECT_EQ(answer.body, "slept 1000 ms\n");
    EXPECT_EQ(answer.header("Connection"), "close");
    EXPECT_TRUE(busy.ended());
    EXPECT_EQ(proxy.exitStatus(), 0);
    EXPECT_EQ(proxy.complaints(), "");
    EXPECT_EQ(slow.stop(), 0);
}

TEST(ReverseProxyExample, AnUpstreamThatFailsAtRandomCosts502sAndNothingElse) {
    Program backend("mock_backend", {"--listen", "127.0.0.1:0", "--carriers", "1", "--fail-rate", "0.3"});
    Program proxy = proxyTo(backend.listening());
    HttpClient client(proxy.listening());
    int good = 0;
    int failed = 0;
    for (int i = 0; i < 300; ++i) {
        const HttpAnswer answer = client.get("/health");
        EXPECT_TRUE(answer.status == 200 || answer.status == 502) << answer.status << answer.body;
        ++(answer.status == 200 ? good : failed);
    }
    EXPECT_GT(good, 0);
    EXPECT_GT(failed, 0);
    EXPECT_EQ(proxy.stop(), 0);
    EXPECT_EQ(proxy.complaints(), "");
    EXPECT_EQ(backend.stop(), 0);
}

}  // namespace
}  // namespace weft::test
