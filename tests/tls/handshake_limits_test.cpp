// Handshakes of connections: their limit, their turns, and what a peer may send while one waits.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tls/tls_stream_bench.hpp"

namespace weft::test {
namespace {

class HandshakeLimits : public SslHandlerTest {
  protected:
    Server serveStreams(const SslServerOptions& tls) {
        ServerBootstrap bootstrap(*group);
        bootstrap.childFiber([context = SslContext::server(tls)](TcpStream socket) {
            TlsStream stream(std::move(socket), context);
            for (Buffer bytes = stream.read(4096); !bytes.empty(); bytes = stream.read(4096))
                stream.write(bytes.view());
        });
        return bootstrap.bind(anyPort).sync().channel();
    }
    static SslServerOptions oneAtATime() {
        SslServerOptions options = serverOptions();
        options.mostHandshakes = 1;
        return options;
    }
};

// One that has stopped in the middle keeps the next one waiting until it goes.
TEST_P(HandshakeLimits, AFurtherHandshakeWaitsForTheEndOfAnother) {
    for (const bool ofFibers : {false, true}) {
        Server server = ofFibers ? serveStreams(oneAtATime()) : serve({}, oneAtATime());
        auto slow = std::make_unique<TlsPeer>(server.localAddress());
        slow->greet();
        EXPECT_NE(slow->receiveRaw(), "");  // the server's hello: it waits for the client's last message
        TlsPeer next(server.localAddress());
        next.greet();
        EXPECT_TRUE(eventually([&] { return server.liveChildren() == 2; }));
        for (int turns = 0; turns < 3; ++turns) group->carriers().carrier(0).spawn([] {}).join();
        EXPECT_FALSE(next.socket().hasInput());
        slow.reset();
        EXPECT_TRUE(next.shakeHands());
        next.send("hello");
        EXPECT_EQ(next.receive(5), "hello");
        TlsPeer third(server.localAddress());
        EXPECT_TRUE(third.shakeHands()) << "an established connection does not count";
    }
}

TEST_P(HandshakeLimits, WhoWaitsIsClosedInTime) {
    Server server = serve({.handshakeTimeout = 300ms}, oneAtATime());
    TlsPeer slow(server.localAddress());
    slow.greet();
    EXPECT_NE(slow.receiveRaw(), "");
    TlsPeer next(server.localAddress());
    next.greet();
    EXPECT_EQ(slow.receiveRaw(), "");
    while (!next.receiveRaw().empty()) {  // its turn may come when the slow one is closed
    }
    EXPECT_TRUE(eventually([&] { return server.liveChildren() == 0; }));
}

TEST_P(HandshakeLimits, WhoLeavesWhileWaitingIsForgotten) {
    Server server = serve({.handshakeTimeout = Duration::zero()}, oneAtATime());
    TlsPeer slow(server.localAddress());
    slow.greet();
    EXPECT_NE(slow.receiveRaw(), "");
    {
        TlsPeer next(server.localAddress());
        next.greet();
        EXPECT_TRUE(eventually([&] { return server.liveChildren() == 2; }));
    }
    EXPECT_TRUE(eventually([&] { return server.liveChildren() == 1; })) << "it waits for a turn that is of no use";
}

// The kernel's buffers fill; without a bound they would never.
TEST_P(HandshakeLimits, APeerThatWaitsCannotSendForEver) {
    Server server = serve({.handshakeTimeout = Duration::zero()}, oneAtATime());
    TlsPeer slow(server.localAddress());
    slow.greet();
    EXPECT_NE(slow.receiveRaw(), "");
    TlsPeer next(server.localAddress());
    next.greet();
    constexpr std::size_t most = 64 * 1024 * 1024;
    EXPECT_LT(next.socket().sendUntilFull(std::string(64 * 1024, 'x'), most), most);
}

TEST_P(HandshakeLimits, ManyHandshakesAtOnceAllEnd) {
    for (const bool ofFibers : {false, true}) {
        Server server = ofFibers ? serveStreams(serverOptions()) : serve();
        std::vector<std::thread> clients;
        for (int i = 0; i < 4; ++i) {
            clients.emplace_back([&] {
                std::vector<std::unique_ptr<TlsPeer>> peers;
                for (int each = 0; each < 10; ++each) {
                    peers.push_back(std::make_unique<TlsPeer>(server.localAddress()));
                    peers.back()->greet();
                }
                for (auto& peer : peers) {
                    ASSERT_TRUE(peer->shakeHands());
                    peer->send("hello");
                    EXPECT_EQ(peer->receive(5), "hello");
                }
            });
        }
        for (std::thread& client : clients) client.join();
    }
}

INSTANTIATE_TEST_SUITE_P(EachTransport, HandshakeLimits, ::testing::ValuesIn(transports()), nameOfTransport);

TEST(SslContext, AtLeastOneHandshakeIsAllowed) {
    SslServerOptions options = serverOptions();
    options.mostHandshakes = 0;
    EXPECT_THROW(SslContext::server(options), ConfigurationError);
}

}  // namespace
}  // namespace weft::test
