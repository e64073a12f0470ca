// A request that no handler takes: the client gets an answer, the log a name.
#include <weft/http/server_codec.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "pipeline/http/codec_server.hpp"
#include "pipeline/http/log_lines.hpp"
#include "pipeline/http/slow_peer.hpp"

namespace weft::http {
namespace {

using test::count;
using test::get;
using test::LogLines;
using test::post;
using test::SlowPeer;

TEST(ServerUntaken, ARequestThatReachesTheTailIsAnsweredWith404) {
    struct Other final : SimpleInboundHandler<std::string> {
        void channelRead0(ChannelHandlerContext&, std::string) override {}
    };
    const LogLines log;
    SlowPeer peer([](ChannelPipeline& pipeline) {
        pipeline.addLast<ServerCodec>().addLast<ObjectAggregator>().addLast("other", std::make_unique<Other>());
    });
    peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    peer.send(get + post("body") + "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + get);
    peer.deliver();
    EXPECT_EQ(count(peer.received(), "HTTP/1.1 404 Not Found\r\n"), 4u) << peer.received();
    EXPECT_EQ(count(peer.received(), "HTTP/1.1 "), 4u);
    EXPECT_TRUE(peer.channel->open());
    EXPECT_EQ(log.containing("no handler took request 1 (GET)"), 1u) << log.all();
    EXPECT_EQ(log.containing("'other' was the last to pass it on"), 4u) << log.all();
}

TEST(ServerUntaken, ARequestInsideAnotherMessageCountsToo) {
    struct Known {
        FullRequest request;
        std::string user;
    };
    struct Auth final : SimpleInboundHandler<FullRequest> {
        void channelRead0(ChannelHandlerContext& ctx, FullRequest request) override {
            ctx.fireChannelRead(Message(Known{std::move(request), "someone"}));
        }
    };
    const LogLines log;
    SlowPeer peer([](ChannelPipeline& pipeline) {
        pipeline.addLast<ServerCodec>().addLast<ObjectAggregator>().addLast("auth", std::make_unique<Auth>());
    });
    peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    peer.send(get);
    peer.deliver();
    EXPECT_EQ(count(peer.received(), "HTTP/1.1 404 Not Found\r\n"), 1u) << peer.received();
    EXPECT_EQ(log.containing("'auth' was the last to pass it on"), 1u) << log.all();
}

TEST(ServerUntaken, AHeadWithItsBodyIsAnsweredOnceBehindTheBody) {
    const LogLines log;
    SlowPeer peer([](ChannelPipeline& pipeline) { pipeline.addLast<ServerCodec>(); });
    peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    peer.send(post("body") + get);
    peer.deliver();
    EXPECT_EQ(count(peer.received(), "HTTP/1.1 404 "), 2u) << peer.received();
    EXPECT_EQ(count(peer.received(), "HTTP/1.1 "), 2u);
}

TEST(ServerUntaken, ARequestAnsweredNeverthelessGetsNo404) {
    struct Watching final : ChannelInboundHandler {
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            ctx.writeAndFlush(ok("seen by the way"));
            ctx.fireChannelRead(std::move(message));
        }
    };
    const LogLines log;
    SlowPeer peer([](ChannelPipeline& pipeline) { pipeline.addLast<ServerCodec>().addLast<Watching>(); });
    peer.channel.sink->room = std::numeric_limits<std::size_t>::max();
    peer.send(get + get);
    peer.deliver();
    EXPECT_EQ(count(peer.received(), "HTTP/1.1 200 OK"), 2u) << peer.received();
    EXPECT_EQ(log.all(), "");
}

}  // namespace
}  // namespace weft::http
