// The requests of http::Client: their bodies, names and headers; which arguments it refuses. Which connection each
// uses: client_pool_test.cpp.
#include <weft/http/client.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <weft/framework/resolver.hpp>

#include "framework/http/client_pool_bench.hpp"
#include "framework/http/scripted_backend.hpp"

namespace weft::test {
namespace {

using http::Client;
using http::ClientError;
using http::ClientOptions;
using http::ClientRequest;
using http::Method;
using Then = ScriptedAnswer::Then;

// Answers a request after its head and reads nothing of its body.
class DeafServer {
  public:
    explicit DeafServer(std::string answer) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        socklen_t size = address_.size();
        EXPECT_EQ(::bind(listener_, address_.data(), size), 0);
        EXPECT_EQ(::listen(listener_, 1), 0);
        EXPECT_EQ(::getsockname(listener_, address_.data(), &size), 0);
        thread_ = std::thread([this, answer = std::move(answer)] {
            const int peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            char byte = 0;
            std::string head;
            while (!head.ends_with("\r\n\r\n") && ::recv(peer, &byte, 1, 0) == 1) head += byte;
            ::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
            done_.future().await();
            ::close(peer);
        });
    }
    ~DeafServer() {
        done_.setValue();
        thread_.join();
        ::close(listener_);
    }
    const SocketAddress& address() const { return address_; }

  private:
    const int listener_;
    SocketAddress address_ = anyPort;
    Promise<void> done_;
    std::thread thread_;
};

TEST_F(ClientPoolTest, AnAnswerBeforeTheWholeBodyWasSentIsTaken) {
    DeafServer server("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig");
    const Client client;
    inFiber([&] {
        ClientRequest upload(Method::post, "/", Buffer::copyOf(std::string(32 << 20, 'x')));
        const http::ClientResponse answer = client.request(server.address(), std::move(upload));
        EXPECT_EQ(answer.status(), http::Status::contentTooLarge);
        EXPECT_EQ(answer.body(), "big");
        EXPECT_EQ(client.stats().idle, 0u);  // its request is incomplete
    });
}

TEST_F(ClientPoolTest, ALargeBodyArrivesWhole) {
    FiberServer server([](http::StreamedRequest& request, http::Responder responder) {
        std::size_t bytes = 0;
        http::BodyReader body = request.takeBody();
        while (const auto piece = body.read()) bytes += piece->readableBytes();
        responder.send(http::ok(std::to_string(bytes)));
    });
    const Client client;
    inFiber([&] {
        for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65'536}, std::size_t{5'000'000}}) {
            const Buffer body = Buffer::copyOf(std::string(size, 'x'));
            EXPECT_EQ(client.post(server.url("/"), body.share(), "x/y").body(), std::to_string(size));
        }
        EXPECT_EQ(client.stats().opened, 1u);
    });
}

struct OneAddress final : Resolver {
    Future<Addresses> resolve(std::string_view host, std::uint16_t port) override {
        ++asked;
        Promise<Addresses> promise;
        if (host == "backend.test") {
            promise.setValue({SocketAddress("127.0.0.9", 1), SocketAddress::loopbackV4(port)});
        } else {
            promise.setError(std::make_exception_ptr(SystemError(fromErrno(ENOENT), "no such host")));
        }
        return promise.future();
    }
    std::atomic<int> asked{0};
};

TEST_F(ClientPoolTest, NamesAreResolvedForNewConnectionsOnly) {
    ScriptedBackend backend({{answerText("1")}, {answerText("2"), Then::close}});
    OneAddress resolver;
    ClientOptions options;
    options.resolver = &resolver;
    const Client client(options);
    const std::string host = "backend.test:" + std::to_string(backend.address().port());
    inFiber([&] {
        EXPECT_EQ(client.get("http://" + host + "/x").body(), "1");  // its first address refuses
        EXPECT_EQ(client.get("http://" + host).body(), "2");
        try {
            client.get("http://nobody.test/");
            ADD_FAILURE() << "no exception";
        } catch (const ClientError& error) {
            EXPECT_EQ(error.code(), fromErrno(ENOENT));
            EXPECT_NE(std::string(error.what()).find("GET http://nobody.test:80/: no such host"), std::string::npos)
                << error.what();
        }
    });
    EXPECT_EQ(resolver.asked, 2);
    EXPECT_EQ(backend.requests(), (std::vector<std::string>{"GET /x HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
                                                            "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"}));
}

TEST_F(ClientPoolTest, HeadersAndHostGoOutAsGiven) {
    ScriptedBackend backend({{answerText("1")}, {answerText("2"), Then::close}});
    const Client client;
    inFiber([&] {
        ClientRequest request(Method::get, "/a");
        request.headers.add("Accept", "text/plain");
        request.keepAlive = false;
        http::RequestOptions options;
        options.host = "shop.test";
        client.request(backend.address(), std::move(request), options);
        EXPECT_EQ(client.stats().idle, 0u);  // the request asked for a close
    });
    EXPECT_EQ(backend.requests()[0],
              "GET /a HTTP/1.1\r\nHost: shop.test\r\nAccept: text/plain\r\nConnection: close\r\n\r\n");
}

TEST_F(ClientPoolTest, HttpsNeedsTls) {
    inFiber([&] {
        ErrorCode error;
        const std::string url = "https://127.0.0.1:1/";  // where nobody listens
        EXPECT_EQ(Client().get(url, {}, error).body(), "");
        EXPECT_EQ(error, fromErrno(EPROTONOSUPPORT));
        try {
            Client().get(url);
            FAIL() << "no exception";
        } catch (const http::ClientError& failure) {
            EXPECT_NE(std::string(failure.what()).find("link the program with weft::tls"), std::string::npos)
                << failure.what();
        }
    });
}

TEST_F(ClientPoolTest, InvalidArgumentsThrowAndNameTheAcceptedValues) {
    EXPECT_THROW(Client(with(&ClientOptions::maxPerHost, 0)), std::invalid_argument);
    EXPECT_THROW(Client(with(&ClientOptions::maxConnections, 0)), std::invalid_argument);
    ClientOptions never;
    never.idleTime = Duration::zero();
    EXPECT_THROW(Client{never}, std::invalid_argument);
    const Client client;
    EXPECT_THROW(client.get("http://127.0.0.1:1/"), std::logic_error);  // not in a fiber
    inFiber([&] {
        for (const char* url : {"", "127.0.0.1:1/", "ftp://127.0.0.1/", "https:/a", "http://", "http://a:0/",
                                "http://a:70000/", "http://a b/", "http://u@a/", "http://a/#top", "http://[::1/"}) {
            EXPECT_THROW(client.get(url), std::invalid_argument) << url;
        }
        const SocketAddress nobody = SocketAddress::loopbackV4(1);
        EXPECT_THROW(client.request(nobody, ClientRequest(Method::connect, "a:1")), std::invalid_argument);
        ClientRequest upgrade(Method::get, "/");
        upgrade.headers.add("Upgrade", "websocket");
        EXPECT_THROW(client.request(nobody, std::move(upgrade)), std::invalid_argument);
        ClientRequest bad(Method::get, "/");
        bad.headers.add("X", "a\r\nb");
        EXPECT_THROW(client.request(nobody, std::move(bad)), std::invalid_argument);
        ClientRequest streamed(Method::post, "/");
        streamed.streamed = true;
        EXPECT_THROW(client.request(nobody, std::move(streamed)), std::invalid_argument);
    });
}

}  // namespace
}  // namespace weft::test
