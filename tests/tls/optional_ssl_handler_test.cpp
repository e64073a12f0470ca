// OptionalSslHandler, the answer to plain text on a port for TLS, and ApplicationProtocolNegotiationHandler.
#include <weft/tls/optional_ssl_handler.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <weft/http/refusal.hpp>
#include <weft/tls/application_protocol_negotiation_handler.hpp>

#include "tls/tls_stream_bench.hpp"

namespace weft::test {
namespace {

class OnePort : public SslHandlerTest {
  protected:
    Server serveBoth(const SslHandlerOptions& options = {}) {
        ServerBootstrap bootstrap(*group);
        bootstrap.childHandler([this, options, context = SslContext::server(serverOptions())](Channel& channel) {
            channel.pipeline().addLast<OptionalSslHandler>(context, options).addLast<Teller>(story).addLast<Echo>();
        });
        return bootstrap.bind(anyPort).sync().channel();
    }
};

TEST_P(OnePort, TlsAndPlainBytesAreBothServed) {
    Server server = serveBoth();
    TlsPeer secure(server.localAddress());
    ASSERT_TRUE(secure.shakeHands());
    for (const char* text : {"one", "two"}) {
        secure.send(text);
        EXPECT_EQ(secure.receive(3), text);
    }
    BlockingPeer plain(server.localAddress());
    EXPECT_EQ(echoed(plain, "GET"), "GET");
    EXPECT_EQ(echoed(plain, "\x16 is not special any more"), "\x16 is not special any more");
    EXPECT_TRUE(story.has("handshake"));
    EXPECT_TRUE(story.has("read GET"));
}

TEST_P(OnePort, ASingleByteDecides) {
    Server server = serveBoth();
    BlockingPeer plain(server.localAddress());
    EXPECT_EQ(echoed(plain, "x"), "x");
    LibsslPeer tls(LibsslPeer::Side::client);
    BlockingPeer secure(server.localAddress());
    tls.receive({});
    const std::string hello = tls.takeWire();
    secure.send(hello.substr(0, 1));
    EXPECT_TRUE(eventually([&] { return server.liveChildren() == 2; }));
    secure.send(hello.substr(1));
    while (::SSL_is_init_finished(tls.ssl()) == 0) {
        tls.receive(secure.receive());
        secure.send(tls.takeWire());
    }
    tls.write("hello");
    secure.send(tls.takeWire());
    while (tls.received.size() < 5) tls.receive(secure.receive());
    EXPECT_EQ(tls.received, "hello");
}

TEST_P(OnePort, AHandshakeThatStopsEndsInTime) {
    Server server = serveBoth({.handshakeTimeout = 20ms});
    BlockingPeer peer(server.localAddress());
    peer.send("\x16");
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(story.has("exception: " + timedOut().message()));
}

TEST_P(OnePort, PlainTextOnAPortForTlsGetsTheAnswerOfItsContext) {
    SslServerOptions options = serverOptions();
    options.plainAnswer = http::plainRequestAnswer;
    Server handlers = serve({}, options);
    ServerBootstrap bootstrap(*group);
    bootstrap.childFiber([context = SslContext::server(options)](TcpStream socket) {
        TlsStream stream(std::move(socket), context);
        ErrorCode error;
        stream.handshake(error);
        EXPECT_EQ(error, SslError::notTls);
    });
    Server fibers = bootstrap.bind(anyPort).sync().channel();
    for (const Server& server : {handlers, fibers}) {
        for (const char* method : {"GET", "DELETE", "OPTIONS", "PATCH", "PRI", "BREW", "SSH-2.0-x"}) {
            BlockingPeer peer(server.localAddress());
            peer.send(std::string(method) + " / HTTP/1.1\r\nHost: localhost\r\n\r\n");
            std::string answer;
            EXPECT_EQ(peer.receiveToEnd(answer), 0) << method;
            EXPECT_EQ(answer, http::plainRequestAnswer) << method;
        }
    }
    EXPECT_TRUE(story.has("exception: " + make_error_code(SslError::notTls).message()));
}

TEST(OptionalSslHandlerTest, AClientsContextIsRefused) {
    EXPECT_THROW(OptionalSslHandler(SslContext::client(clientOptions())), std::invalid_argument);
}

// ---- application protocols ----

class Chooser final : public ApplicationProtocolNegotiationHandler {
  public:
    explicit Chooser(Story& story) : ApplicationProtocolNegotiationHandler("fallback"), story_(story) {}

  protected:
    void configurePipeline(ChannelHandlerContext& ctx, std::string_view protocol) override {
        story_.add("protocol " + std::string(protocol));
        if (protocol == "bad") throw std::runtime_error("no such protocol");
        ctx.channel().pipeline().addLast<Echo>();
    }
    void handshakeFailed(ChannelHandlerContext&, const ErrorCode& error) override {
        story_.add("failed: " + error.message());
    }

  private:
    Story& story_;
};

class Protocols : public SslHandlerTest {
  protected:
    Server serveProtocols() {
        SslServerOptions options = serverOptions();
        options.applicationProtocols = {"h2", "bad"};
        ServerBootstrap bootstrap(*group);
        bootstrap.childHandler([this, context = SslContext::server(options)](Channel& channel) {
            channel.pipeline().addLast<SslHandler>(context).addLast<Chooser>(story);
            channel.closeFuture().addListener([this](const ChannelFuture&) { story.add("closed"); });
        });
        return bootstrap.bind(anyPort).sync().channel();
    }
    static void offer(TlsPeer& peer, const std::string& protocol) {
        const std::string list = std::string(1, static_cast<char>(protocol.size())) + protocol;
        ::SSL_set_alpn_protos(peer.ssl(), reinterpret_cast<const unsigned char*>(list.data()),
                              static_cast<unsigned>(list.size()));
    }
};

TEST_P(Protocols, TheNegotiatedOneCompletesThePipeline) {
    Server server = serveProtocols();
    TlsPeer peer(server.localAddress());
    offer(peer, "h2");
    ASSERT_TRUE(peer.shakeHands());
    peer.send("hello");
    EXPECT_EQ(peer.receive(5), "hello");
    EXPECT_TRUE(story.has("protocol h2"));
}

TEST_P(Protocols, AClientWithoutThemGetsTheFallback) {
    Server server = serveProtocols();
    TlsPeer peer(server.localAddress());
    ASSERT_TRUE(peer.shakeHands());
    peer.send("hello");
    EXPECT_EQ(peer.receive(5), "hello");
    EXPECT_TRUE(story.has("protocol fallback"));
}

TEST_P(Protocols, AnExceptionClosesTheConnection) {
    Server server = serveProtocols();
    TlsPeer peer(server.localAddress());
    offer(peer, "bad");
    peer.shakeHands();
    EXPECT_EQ(peer.receiveToEnd(), "");
    EXPECT_TRUE(eventually([&] { return story.has("closed"); }));
}

TEST_P(Protocols, AFailedHandshakeIsTold) {
    Server server = serveProtocols();
    BlockingPeer peer(server.localAddress());
    peer.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(eventually([&] { return story.has("closed"); }));
    EXPECT_TRUE(story.has("failed: " + make_error_code(SslError::notTls).message()));
}

INSTANTIATE_TEST_SUITE_P(EachTransport, OnePort, ::testing::ValuesIn(transports()), nameOfTransport);
INSTANTIATE_TEST_SUITE_P(EachTransport, Protocols, ::testing::ValuesIn(transports()), nameOfTransport);

}  // namespace
}  // namespace weft::test
