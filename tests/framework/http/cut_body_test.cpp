// A client must not take a truncated body for a whole one. Over sockets, where an orderly end and a reset differ.
#include <weft/framework/server_bootstrap.hpp>

#include <cerrno>
#include <string>

#include "framework/bench.hpp"

namespace weft::test {
namespace {

// Streams "half" and then the rest; for "/cut" it drops the writer instead.
struct Halves final : SimpleInboundHandler<http::FullRequest> {
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        ctx.spawn([responder = request.responder(), cut = request.path() == "/cut"]() mutable {
            http::BodyWriter body = responder.begin(http::Response(http::Status::ok));
            body.send(Buffer::copyOf("half"));
            if (cut) return;
            body.send(Buffer::copyOf(" and half"));
            body.end();
        });
    }
};

struct CutBody : testing::Test {
    CutBody() : group(groupOptions(1)) {
        ServerBootstrap bootstrap(group);
        bootstrap.childHandler([](Channel& channel) {
            channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Halves>();
        });
        server = bootstrap.bind(anyPort).sync().channel();
    }
    EventLoopGroup group;
    Server server;
};

TEST_F(CutBody, UntilCloseEndsWithAReset) {
    BlockingPeer peer(server.localAddress());
    peer.send("GET /cut HTTP/1.0\r\n\r\n");
    std::string bytes;
    EXPECT_EQ(peer.receiveToEnd(bytes), ECONNRESET);
}

TEST_F(CutBody, AWholeBodyUntilCloseEndsInOrder) {
    BlockingPeer peer(server.localAddress());
    peer.send("GET / HTTP/1.0\r\n\r\n");
    std::string bytes;
    EXPECT_EQ(peer.receiveToEnd(bytes), 0);
    EXPECT_TRUE(bytes.ends_with("\r\n\r\nhalf and half")) << bytes;
}

TEST_F(CutBody, InChunksMissesItsLastChunk) {
    BlockingPeer peer(server.localAddress());
    peer.send("GET /cut HTTP/1.1\r\nHost: x\r\n\r\n");
    std::string bytes;
    EXPECT_EQ(peer.receiveToEnd(bytes), 0);
    EXPECT_TRUE(bytes.ends_with("4\r\nhalf\r\n")) << bytes;
}

}  // namespace
}  // namespace weft::test
