// RequestRefused: the answers that the codec gives by itself.
#include <weft/http/request_refused.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pipeline/http/codec_server.hpp"

namespace weft::http {
namespace {

using test::get;
using test::hello;
using test::Server;

struct Observer final : ChannelInboundHandler {
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        if (event.is<RequestRefused>()) {
            const RequestRefused& refused = event.get<RequestRefused>();
            seen.push_back(std::to_string(refused.ticket) + " " + std::to_string(codeOf(refused.status)) + " " +
                           std::string(refused.reason));
        }
        ctx.fireUserEventTriggered(std::move(event));
    }
    std::vector<std::string> seen;
};

TEST(ServerRefusal, EachAnswerOfTheCodecIsTold) {
    Server server([](ChannelHandlerContext& ctx, FullRequest& request) {
        if (request.path() != "/forgotten") hello(ctx, request);
    });
    auto& observer = *server.channel.pipeline().addLast<Observer>().get<Observer>();
    server.say(get);
    server.say("GET /forgotten HTTP/1.1\r\nHost: x\r\n\r\n");
    server.say("GET / HTTP/1.1\r\nHost : x\r\n\r\n");
    ASSERT_EQ(observer.seen.size(), 2u);
    EXPECT_EQ(observer.seen[0], "2 500 ");
    EXPECT_EQ(observer.seen[1].substr(0, 6), "3 400 ");
    EXPECT_GT(observer.seen[1].size(), 6u) << "a reason";
}

// The client has its answer, or nothing, so no other one is given or told.
TEST(ServerRefusal, AMalformedBodyOfAnAnsweredRequestIsNotTold) {
    Server server(hello);
    auto& pipeline = server.channel.pipeline();
    pipeline.remove<ObjectAggregator>();
    struct Early final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            if (message.is<Request>()) {
                const Request request = message.take<Request>();
                ctx.writeAndFlush(ok("early").to(request));
            }
        }
    };
    pipeline.addLast<Early>();
    auto& observer = *pipeline.addLast<Observer>().get<Observer>();
    EXPECT_TRUE(server.say("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n").ends_with("early"));
    EXPECT_TRUE(observer.seen.empty());
}

}  // namespace
}  // namespace weft::http
