// nginx as the backend of an http::Client and of the reverse proxy, and as the proxy in front of the HTTP server.
#include "peers/nginx.hpp"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include <weft/http/client.hpp>

#include "examples/http_client.hpp"
#include "framework/bench.hpp"
#include "support/pattern.hpp"

namespace weft::test {
namespace {

const std::string connectionLocation =
    "keepalive_requests 10;\nlocation = /connection { return 200 \"$connection $connection_requests\"; }\n";

class NginxPeer : public ::testing::Test {
  protected:
    void inFiber(const std::function<void()>& body) { group_.carriers().carrier(0).spawn(body).join(); }

    EventLoopGroup group_{groupOptions(1)};
};

http::ClientRequest requestOf(const std::string& method, const std::string& target) {
    http::ClientRequest request;
    request.method = method;
    request.target = target;
    return request;
}

TEST_F(NginxPeer, IsAskedOnOneConnectionUntilItEndsIt) {
    NEEDS_PEER("nginx");
    const Nginx nginx(connectionLocation);
    inFiber([&] {
        const http::Client client;
        std::string connection;
        for (int i = 0; i < 100; ++i) {
            const http::ClientResponse response = client.get(nginx.url("/connection"));
            ASSERT_EQ(response.status(), http::Status::ok) << i;
            const std::string body(response.body());
            const std::size_t space = body.find(' ');
            ASSERT_NE(space, std::string::npos) << body;
            EXPECT_EQ(body.substr(space + 1), std::to_string(i % 10 + 1));
            EXPECT_EQ(body.substr(0, space) == connection, i % 10 != 0) << i;
            connection = body.substr(0, space);
        }
    });
}

TEST_F(NginxPeer, AnswersWithChunksFilesRangesAndWithoutBodies) {
    NEEDS_PEER("nginx");
    const Nginx nginx("location /chunked/ { ssi on; ssi_types text/plain; alias ./; default_type text/plain; }\n");
    const std::string file = pattern(3'000'000);
    nginx.addFile("big.bin", file);
    nginx.addFile("parts.txt", "<!--# echo var=\"request_method\" -->" + std::string(100'000, 'x'));
    inFiber([&] {
        const http::Client client;
        http::RequestOptions options;
        options.maxBodyBytes = 4'000'000;
        const http::ClientResponse whole = client.get(nginx.url("/big.bin"), options);
        EXPECT_EQ(whole.status(), http::Status::ok);
        EXPECT_TRUE(whole.body() == file);

        const http::ClientResponse head = client.head(nginx.url("/big.bin"));
        EXPECT_EQ(head.header("Content-Length"), "3000000");
        EXPECT_EQ(head.body(), "");

        http::ClientRequest ranged = requestOf("GET", "/big.bin");
        ranged.headers.add("Range", "bytes=1000000-1000099");
        const http::ClientResponse range = client.request(nginx.address(), std::move(ranged));
        EXPECT_EQ(codeOf(range.status()), 206);
        EXPECT_TRUE(range.body() == file.substr(1'000'000, 100));

        http::ClientRequest conditional = requestOf("GET", "/big.bin");
        conditional.headers.add("If-None-Match", std::string(*whole.header("ETag")));
        const http::ClientResponse unchanged = client.request(nginx.address(), std::move(conditional));
        EXPECT_EQ(codeOf(unchanged.status()), 304);
        EXPECT_EQ(unchanged.body(), "");

        const http::ClientResponse chunked = client.get(nginx.url("/chunked/parts.txt"), options);
        EXPECT_EQ(chunked.header("Transfer-Encoding"), "chunked");
        EXPECT_TRUE(chunked.body() == "GET" + std::string(100'000, 'x'));
        EXPECT_EQ(client.stats().opened, 1U);
    });
}

TEST_F(NginxPeer, RefusesALargeBodyBeforeItHasReadIt) {
    NEEDS_PEER("nginx");
    const Nginx nginx("client_max_body_size 1k;\n");
    inFiber([&] {
        const http::Client client;
        const http::ClientResponse response =
            client.post(nginx.url("/upload"), Buffer::copyOf(pattern(2'000'000)), "application/octet-stream");
        EXPECT_EQ(codeOf(response.status()), 413);
        EXPECT_EQ(codeOf(client.get(nginx.url("/absent")).status()), 404);
    });
}

TEST(NginxBehindTheReverseProxy, AnswersThroughIt) {
    NEEDS_PEER("nginx");
    const Nginx nginx(connectionLocation);
    const std::string file = pattern(3'000'000);
    nginx.addFile("big.bin", file);
    Program proxy("reverse_proxy",
                  {"--listen", "127.0.0.1:0", "--carriers", "1", "--upstream", nginx.address().toString()});
    {
        HttpClient client(proxy.listening());
        for (int i = 0; i < 30; ++i) EXPECT_EQ(client.get("/connection").status, 200);
        const HttpAnswer whole = client.get("/big.bin");
        EXPECT_TRUE(whole.body == file);
        EXPECT_EQ(client.request("HEAD", "/big.bin").header("Content-Length"), "3000000");
        const HttpAnswer unchanged =
            client.request("GET", "/big.bin", "If-None-Match: " + whole.header("ETag") + "\r\n");
        EXPECT_EQ(unchanged.status, 304);
        EXPECT_EQ(client.get("/absent").status, 404);
    }
    EXPECT_EQ(proxy.stop(), 0);
    EXPECT_EQ(proxy.complaints(), "");
}

class NginxInFront : public ::testing::TestWithParam<const char*> {};

TEST_P(NginxInFront, PassesRequestsToTheServer) {
    NEEDS_PEER("nginx");
    Program server("http_server", {"--listen", "127.0.0.1:0", "--carriers", "2"});
    const Nginx nginx(
        "location / { proxy_pass http://weft; " + std::string(GetParam()) + " }\n",
        "client_max_body_size 2m; upstream weft { server " + server.listening().toString() + "; keepalive 8; }");
    const std::string body = pattern(900'000);
    HttpClient client(nginx.address());
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(client.get("/plaintext").body, "Hello, World!");
        EXPECT_EQ(client.get("/fiber").body, "Hello, World!");
    }
    EXPECT_EQ(client.request("HEAD", "/plaintext").header("Content-Length"), "13");
    const HttpAnswer echo =
        client.request("POST", "/echo", "Content-Length: " + std::to_string(body.size()) + "\r\n", body);
    EXPECT_EQ(echo.status, 200);
    EXPECT_TRUE(echo.body == body);
    EXPECT_EQ(client.get("/absent").status, 404);
    EXPECT_EQ(server.stop(), 0);
    EXPECT_EQ(server.complaints(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Versions, NginxInFront,
    ::testing::Values("", "proxy_http_version 1.1; proxy_set_header Connection '';",
                      "proxy_http_version 1.1; proxy_request_buffering off; proxy_buffering off;"));

}  // namespace
}  // namespace weft::test
