// A server with a Router, tested by its bytes on the wire.
#include <weft/http/router.hpp>

#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/http/object_aggregator.hpp>
#include <weft/http/server_codec.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/embedded_channel.hpp>

#include "pipeline/http/log_lines.hpp"

namespace weft::http {
namespace {

using test::LogLines;

std::shared_ptr<const RouteTable> routes() {
    auto table = std::make_shared<RouteTable>();
    table->get("/hello", [](ChannelHandlerContext& ctx, FullRequest) { ctx.writeAndFlush(ok("Hello!")); })
        .get("/users/{id}",
             [](ChannelHandlerContext& ctx, FullRequest request, PathParameters path) {
                 ctx.writeAndFlush(ok("user " + std::string(path["id"]) + " of " + std::string(request.path())));
             })
        .post("/users/{id}",
              [](ChannelHandlerContext& ctx, FullRequest request) { ctx.writeAndFlush(ok(request.takeBody())); })
        .get("/throws", [](ChannelHandlerContext&, FullRequest) { throw std::runtime_error("a route failed"); })
        .get("/drops", [](ChannelHandlerContext&, FullRequest) {});
    return table;
}

struct RoutedServer {
    RoutedServer() {
        channel.pipeline().addLast<ServerCodec>().addLast<ObjectAggregator>(1000u).addLast<Router>(routes());
    }
    std::string exchange(std::string_view method, std::string_view target, std::string_view body = {}) {
        std::string request(method);
        request.append(" ").append(target).append(" HTTP/1.1\r\nHost: x\r\n");
        if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
        channel.writeInbound(Buffer::copyOf(request.append("\r\n").append(body)));
        return answered();
    }
    std::string answered() {
        channel.runPendingTasks();
        return channel.readOutboundText();
    }
    EmbeddedChannel channel;
};

testing::AssertionResult begins(const std::string& answer, std::string_view status) {
    if (answer.starts_with("HTTP/1.1 " + std::string(status) + " ")) return testing::AssertionSuccess();
    return testing::AssertionFailure() << answer;
}

TEST(Router, CallsTheRouteOfMethodAndPath) {
    RoutedServer server;
    EXPECT_TRUE(server.exchange("GET", "/hello").ends_with("\r\n\r\nHello!"));
    EXPECT_TRUE(server.exchange("GET", "/hello?q=1").ends_with("Hello!")) << "the query is no part of the path";
    EXPECT_TRUE(server.exchange("GET", "http://x/hello").ends_with("Hello!")) << "absolute form";
    EXPECT_TRUE(server.exchange("GET", "/users/a%20b").ends_with("user a b of /users/a%20b"));
    EXPECT_TRUE(server.exchange("POST", "/users/1", "posted").ends_with("posted"));
}

TEST(Router, HeadIsAnsweredByTheGetRouteWithoutItsBody) {
    RoutedServer server;
    const std::string answer = server.exchange("HEAD", "/hello");
    EXPECT_TRUE(begins(answer, "200"));
    EXPECT_NE(answer.find("Content-Length: 6\r\n"), std::string::npos) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST(Router, RequestsWithoutARouteGetAnErrorStatus) {
    RoutedServer server;
    EXPECT_TRUE(begins(server.exchange("GET", "/nowhere"), "404"));
    EXPECT_TRUE(begins(server.exchange("BREW", "/hello"), "501"));
    EXPECT_TRUE(begins(server.exchange("GET", "/users/%"), "400"));
    EXPECT_TRUE(begins(server.exchange("GET", "/users/.."), "400"));
    EXPECT_TRUE(begins(server.exchange("GET", "/users/..%2fsecret"), "400"));
    const std::string refused = server.exchange("DELETE", "/users/1");
    EXPECT_TRUE(begins(refused, "405"));
    EXPECT_NE(refused.find("Allow: GET, HEAD, POST, OPTIONS\r\n"), std::string::npos) << refused;
}

TEST(Router, OptionsAreAnsweredWithTheMethodsOfThePath) {
    RoutedServer server;
    const std::string one = server.exchange("OPTIONS", "/hello");
    EXPECT_TRUE(begins(one, "204"));
    EXPECT_NE(one.find("Allow: GET, HEAD, OPTIONS\r\n"), std::string::npos) << one;
    const std::string all = server.exchange("OPTIONS", "*");
    EXPECT_TRUE(begins(all, "204"));
    EXPECT_NE(all.find("Allow: GET, HEAD, POST, OPTIONS\r\n"), std::string::npos) << all;
    EXPECT_TRUE(begins(server.exchange("OPTIONS", "/nowhere"), "404"));
}

TEST(Router, ARouteThatThrowsOrForgetsItsRequestIsAnsweredWith500) {
    const LogLines log;
    RoutedServer server;
    EXPECT_TRUE(begins(server.exchange("GET", "/drops"), "500"));
    EXPECT_THROW(server.exchange("GET", "/throws"), std::runtime_error) << "exceptionCaught() gets it";
    EXPECT_TRUE(begins(server.answered(), "500"));
    EXPECT_TRUE(server.exchange("GET", "/hello").ends_with("Hello!")) << "the connection goes on";
}

TEST(Router, NeedsATable) {
    EXPECT_THROW(Router(nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace weft::http
