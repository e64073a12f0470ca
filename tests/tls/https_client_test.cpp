// http::Client over TLS: who is trusted, reuse, failures and truncation.
#include <weft/http/client.hpp>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <weft/tls.hpp>

#include "framework/http/scripted_backend.hpp"
#include "tls/tls_stream_bench.hpp"

namespace weft::test {
namespace {

struct Answer final : SimpleInboundHandler<http::FullRequest> {
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        ctx.writeAndFlush(http::ok(std::string(request.target()) + " " + std::to_string(request.body().size())));
    }
};

class HttpsClientTest : public TlsStreamBench {
  protected:
    Server serve(const SslServerOptions& tls = serverOptions()) {
        ServerBootstrap bootstrap(*group_);
        bootstrap.childHandler([context = SslContext::server(tls)](Channel& channel) {
            channel.pipeline().addLast<SslHandler>(context).addLast<http::ServerCodec>();
            channel.pipeline().addLast<http::ObjectAggregator>(8 << 20).addLast<Answer>();
        });
        return bootstrap.bind(anyPort).sync().channel();
    }
    static std::string urlOf(const SocketAddress& server, const std::string& path = "/",
                             const std::string& host = "localhost") {
        return "https://" + host + ":" + std::to_string(server.port()) + path;
    }
    // The code and the text of a failure.
    static std::pair<ErrorCode, std::string> failureOf(const http::Client& client, const std::string& url) {
        try {
            client.get(url);
        } catch (const http::ClientError& error) {
            return {error.code(), error.what()};
        }
        return {{}, "no failure"};
    }

    const http::Client http_{{.tls = client_}};
};

TEST_P(HttpsClientTest, GetsAndPostsOnOneConnection) {
    const Server server = serve();
    inFiber([&] {
        for (int i = 0; i < 5; ++i) {  // tickets arrive on the idle connection: it is not stale
            EXPECT_EQ(http_.get(urlOf(server.localAddress(), "/fruits?n=1")).body(), "/fruits?n=1 0");
            thisFiber::sleepFor(1ms);
        }
        EXPECT_EQ(http_.post(urlOf(server.localAddress()), Buffer::copyOf(std::string(3 << 20, 'x')), "").body(),
                  "/ 3145728");
        EXPECT_EQ(http_.stats().opened, 1u);
        EXPECT_EQ(http_.stats().stale, 0u);
    });
}

TEST_P(HttpsClientTest, AnAddressIsVerifiedAsOne) {
    const Server server = serve();
    inFiber([&] { EXPECT_EQ(http_.get(urlOf(server.localAddress(), "/", "127.0.0.1")).body(), "/ 0"); });
}

TEST_P(HttpsClientTest, AServerOfAnotherNameIsRefused) {
    const Server server = serve(serverOptions(testAuthority().issue({.names = "DNS:other.test"})));
    inFiber([&] {
        const auto [code, text] = failureOf(http_, urlOf(server.localAddress(), "/x"));
        EXPECT_EQ(code, SslError::wrongName) << text;
        EXPECT_NE(text.find("GET https://localhost:"), std::string::npos) << text;
        EXPECT_NE(text.find("/x: no secure connection (certificate verify failed"), std::string::npos) << text;
        EXPECT_EQ(http_.stats().opened, 0u);
        EXPECT_EQ(http_.stats().inUse, 0u);
    });
}

TEST_P(HttpsClientTest, WithoutAContextOnlyTheSystemsAuthoritiesAreTrusted) {
    const Server server = serve();
    inFiber([&] {
        const http::Client client;
        ErrorCode error;
        client.get(urlOf(server.localAddress()), {}, error);
        EXPECT_EQ(error, SslError::unknownAuthority);
    });
}

TEST_P(HttpsClientTest, AServerThatDoesNotAnswerTheHelloIsLeftInTime) {
    ScriptedBackend plain({{"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"}});
    inFiber([&] {
        // A hello has no end of a line, for which the backend waits.
        ErrorCode error;
        http_.get(urlOf(plain.address()), {.timeout = 50ms}, error);
        EXPECT_EQ(error, timedOut());
    });
}

Fd listening() {
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress any = SocketAddress::loopbackV4(0);
    EXPECT_EQ(::bind(fd.get(), any.data(), any.size()), 0);
    EXPECT_EQ(::listen(fd.get(), 4), 0);
    return fd;
}

SocketAddress addressOf(const Fd& listener) {
    SocketAddress local = SocketAddress::loopbackV4(0);
    socklen_t size = local.size();
    ::getsockname(listener.get(), local.data(), &size);
    return local;
}

// With the handshake before it.
void readRequest(BlockingPeer& socket, LibsslPeer& tls) {
    while (tls.received.find("\r\n\r\n") == std::string::npos) {
        const std::string bytes = socket.receive();
        if (bytes.empty()) return;
        tls.receive(bytes);
        socket.send(tls.takeWire());
    }
}

// A server in libssl on a thread of its own: answers one request with `answer`, then ends the stream.
class LibsslBackend {
  public:
    LibsslBackend(std::string answer, bool saysClose)
        : thread_([this, answer = std::move(answer), saysClose] {
              BlockingPeer socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
              LibsslPeer tls(LibsslPeer::Side::server);
              readRequest(socket, tls);
              tls.write(answer);
              if (saysClose) ::SSL_shutdown(tls.ssl());
              socket.send(tls.takeWire());
              socket.endOutput();
              while (!socket.receive().empty()) {
              }
          }) {}
    ~LibsslBackend() { thread_.join(); }

    SocketAddress address() const { return addressOf(listener_); }

  private:
    Fd listener_ = listening();
    std::thread thread_;
};

TEST_P(HttpsClientTest, ABodyThatEndsWithTheConnectionMustEndWithACloseNotify) {
    const std::string answer = "HTTP/1.1 200 OK\r\n\r\nall of it";
    const LibsslBackend orderly(answer, true);
    const LibsslBackend cut(answer, false);
    inFiber([&] {
        EXPECT_EQ(http_.get(urlOf(orderly.address())).body(), "all of it");
        const auto [code, text] = failureOf(http_, urlOf(cut.address()));
        EXPECT_EQ(code, SslError::truncated) << text;
    });
}

// The whole record would be taken for the answer to the next request.
TEST_P(HttpsClientTest, AConnectionWithAPartOfARecordIsStale) {
    const Fd listener = listening();
    std::string wire;
    Promise<void> partSent, goOn;
    std::thread backend([&] {
        const int accepted = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
        const int atOnce = 1;  // the part must not wait for an acknowledgement
        ::setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &atOnce, sizeof atOnce);
        BlockingPeer socket(accepted);
        LibsslPeer tls(LibsslPeer::Side::server);
        readRequest(socket, tls);
        tls.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none");
        socket.send(tls.takeWire());
        tls.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
        wire = tls.takeWire();
        socket.send(wire.substr(0, 20));
        partSent.setValue();
        goOn.future().await();
    });
    inFiber([&] {
        const std::string url = urlOf(addressOf(listener));
        EXPECT_EQ(http_.get(url).body(), "one");
        partSent.future().await();
        thisFiber::sleepFor(5ms);
        ErrorCode error;
        http_.get(url, {.timeout = 50ms}, error);  // on a connection of its own, which nobody accepts
        EXPECT_EQ(error, timedOut());
        EXPECT_EQ(http_.stats().stale, 1u);
    });
    goOn.setValue();
    backend.join();
}

TEST_P(HttpsClientTest, AServerThatChoosesAnotherProtocolIsRefused) {
    SslServerOptions options = serverOptions();
    options.applicationProtocols = {"h2"};
    const Server server = serve(options);
    SslClientOptions offering = clientOptions();
    offering.applicationProtocols = {"h2", "http/1.1"};
    inFiber([&] {
        const http::Client client({.tls = SslContext::client(offering)});
        const auto [code, text] = failureOf(client, urlOf(server.localAddress()));
        EXPECT_EQ(code, fromErrno(EPROTONOSUPPORT)) << text;
        EXPECT_NE(text.find("the server speaks 'h2'"), std::string::npos) << text;
    });
}

TEST_P(HttpsClientTest, AServersContextIsRefused) {
    EXPECT_THROW(static_cast<void>(std::shared_ptr<const StreamSecurity>(server_)), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Transports, HttpsClientTest, ::testing::ValuesIn(transports()), nameOfTransport);

}  // namespace
}  // namespace weft::test
