// The connections of http::Client: reuse, limits, the queue, stale connections, retries; names and URLs.
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <weft/framework/resolver.hpp>

#include "framework/http/client_bench.hpp"
#include "framework/http/scripted_backend.hpp"

namespace weft::test {
namespace {

using http::Client;
using http::ClientError;
using http::ClientFault;
using http::ClientOptions;
using http::ClientRequest;
using http::ClientStats;
using http::Method;
using Then = ScriptedAnswer::Then;

ClientOptions with(std::size_t ClientOptions::*field, std::size_t value) {
    ClientOptions options;
    options.*field = value;
    return options;
}

// Answers with the target once a gate is open; records the order of the requests.
class GatedServer {
  public:
    std::string url(std::string_view target) const { return server_.url(target); }
    std::size_t connections() const { return server_.connections(); }
    void open() { gate_.setValue(); }
    std::vector<std::string> order() {
        std::lock_guard held(lock_);
        return order_;
    }

  private:
    void answer(http::StreamedRequest& request, http::Responder responder) {
        {
            std::lock_guard held(lock_);
            order_.emplace_back(request.target());
        }
        future_.await();
        responder.send(http::ok(request.target()));
    }

    std::mutex lock_;
    std::vector<std::string> order_;
    Promise<void> gate_;
    const Future<void> future_ = gate_.future();
    FiberServer server_{
        [this](http::StreamedRequest& request, http::Responder responder) { answer(request, std::move(responder)); }};
};

class ClientPoolTest : public ClientBench {};

TEST_F(ClientPoolTest, ReuseIsCounted) {
    ScriptedBackend backend({{answerText("1")}, {answerText("2")}, {answerText("3")}});
    const Client client;
    inFiber([&] {
        for (const char* body : {"1", "2", "3"}) {
            EXPECT_EQ(client.get("http://" + backend.address().toString() + "/").body(), body);
        }
        const ClientStats stats = client.stats();
        EXPECT_EQ(stats.opened, 1u);
        EXPECT_EQ(stats.reused, 2u);
        EXPECT_EQ(stats.idle, 1u);
        EXPECT_EQ(stats.inUse, 0u);
    });
    EXPECT_EQ(backend.connections(), 1);
}

TEST_F(ClientPoolTest, EachCarrierAndEachClientHasConnectionsOfItsOwn) {
    GatedServer server;
    server.open();
    EventLoopGroup two(groupOptions(2));
    const Client client;
    const Client copy = client;
    const Client other;
    for (std::size_t i = 0; i < 2; ++i) {
        two.carriers()
            .carrier(i)
            .spawn([&] {
                EXPECT_EQ(client.get(server.url("/")).body(), "/");
                EXPECT_EQ(copy.get(server.url("/")).body(), "/");
                EXPECT_EQ(client.stats().opened, 1u);
                EXPECT_EQ(copy.stats().reused, 1u);
                EXPECT_EQ(other.stats().opened, 0u);
            })
            .join();
    }
    EXPECT_EQ(server.connections(), 2u);
}

TEST_F(ClientPoolTest, AtTheLimitOfAHostRequestsAreServedInTheirOrder) {
    GatedServer server;
    const Client client(with(&ClientOptions::maxPerHost, 1));
    std::vector<JoinHandle<void>> fibers;
    const std::vector<std::string> targets{"/a", "/b", "/c", "/d", "/e"};
    for (const std::string& target : targets) {
        fibers.push_back(carrier().spawn([&, target] { EXPECT_EQ(client.get(server.url(target)).body(), target); }));
        inFiber(
            [&] { EXPECT_TRUE(soon([&] { return client.stats().inUse + client.stats().waiting == fibers.size(); })); });
    }
    inFiber([&] { EXPECT_EQ(client.stats().inUse, 1u); });
    server.open();
    for (auto& fiber : fibers) fiber.join();
    EXPECT_EQ(server.order(), targets);
    inFiber([&] {
        EXPECT_EQ(client.stats().waited, 4u);
        EXPECT_EQ(client.stats().opened, 1u);
    });
}

TEST_F(ClientPoolTest, AWaiterGivesUpAtItsDeadlineAndTheOthersDoNot) {
    GatedServer server;
    const Client client(with(&ClientOptions::maxPerHost, 1));
    JoinHandle<void> first = carrier().spawn([&] { EXPECT_EQ(client.get(server.url("/a")).body(), "/a"); });
    inFiber([&] {
        EXPECT_TRUE(soon([&] { return client.stats().inUse == 1; }));
        http::RequestOptions options;
        options.timeout = 10ms;
        try {
            client.get(server.url("/late"), options);
            ADD_FAILURE() << "no exception";
        } catch (const ClientError& error) {
            EXPECT_EQ(error.code(), timedOut());
            EXPECT_NE(std::string(error.what()).find("maxPerHost"), std::string::npos) << error.what();
        }
        EXPECT_EQ(client.stats().waiting, 0u);
    });
    JoinHandle<void> last = carrier().spawn([&] { EXPECT_EQ(client.get(server.url("/b")).body(), "/b"); });
    server.open();
    first.join();
    last.join();
    EXPECT_EQ(server.order(), (std::vector<std::string>{"/a", "/b"}));
}

TEST_F(ClientPoolTest, ASlotThatAWaiterGivesUpGoesToTheNextOne) {
    ScriptedBackend backend({{"", Then::close}, {answerText("2"), Then::close}});
    const Client client(with(&ClientOptions::maxPerHost, 1));
    const std::string url = "http://" + backend.address().toString() + "/";
    int died = 0;
    int answered = 0;
    const auto ask = [&] {
        try {
            EXPECT_EQ(client.get(url).body(), "2");
            ++answered;
        } catch (const ClientError&) {
            ++died;
        }
    };
    inFiber([&] {  // which spawns both before either runs, so that one waits for the slot of the other
        JoinHandle<void> fibers[] = {carrier().spawn(ask), carrier().spawn(ask)};
        for (JoinHandle<void>& fiber : fibers) fiber.join();
    });
    EXPECT_EQ(died, 1);
    EXPECT_EQ(answered, 1);
}

TEST_F(ClientPoolTest, AtTheTotalLimitAnIdleConnectionIsClosedForANewOne) {
    GatedServer one;
    GatedServer two;
    one.open();
    two.open();
    const Client client(with(&ClientOptions::maxConnections, 1));
    inFiber([&] {
        EXPECT_EQ(client.get(one.url("/1")).body(), "/1");
        EXPECT_EQ(client.get(two.url("/2")).body(), "/2");
        EXPECT_EQ(client.get(one.url("/3")).body(), "/3");
        EXPECT_EQ(client.stats().opened, 3u);
        EXPECT_EQ(client.stats().idle, 1u);
    });
}

TEST_F(ClientPoolTest, IdleConnectionsAreKeptUpToTheirLimitAndTime) {
    GatedServer server;
    server.open();
    const Client none(with(&ClientOptions::maxIdlePerHost, 0));
    ClientOptions shortLife;
    shortLife.idleTime = 1ms;
    const Client brief(shortLife);
    inFiber([&] {
        none.get(server.url("/"));
        none.get(server.url("/"));
        EXPECT_EQ(none.stats().opened, 2u);
        EXPECT_EQ(none.stats().idle, 0u);
        brief.get(server.url("/"));
        EXPECT_TRUE(soon([&] { return brief.stats().idle == 0; }));
        EXPECT_EQ(brief.get(server.url("/again")).body(), "/again");
    });
    EXPECT_TRUE(eventually([&] { return server.connections() <= 1; }));
}

// By the end of the pause, a timer that was due before it has fired.
TEST_F(ClientPoolTest, AnIdleTimeOfTheLargestDurationNeverEnds) {
    GatedServer server;
    server.open();
    ClientOptions options;
    options.idleTime = Duration::max();
    const Client client(options);
    inFiber([&] {
        client.get(server.url("/"));
        thisFiber::sleepFor(1ms);
        EXPECT_EQ(client.stats().idle, 1u);
        client.get(server.url("/"));
        EXPECT_EQ(client.stats().reused, 1u);
    });
}

TEST_F(ClientPoolTest, AConnectionEndedByTheServerIsNotUsedForANonIdempotentRequest) {
    ScriptedBackend backend({{answerText("1"), Then::close}, {answerText("2"), Then::close}});
    const Client client;
    const std::string url = "http://" + backend.address().toString() + "/";
    inFiber([&] { EXPECT_EQ(client.get(url).body(), "1"); });
    ASSERT_TRUE(eventually([&] { return backend.closed() == 1; }));
    inFiber([&] {
        EXPECT_EQ(client.stats().idle, 1u);  // the answer did not announce the close
        EXPECT_EQ(client.post(url, Buffer::copyOf(""), "text/plain").body(), "2");
        EXPECT_EQ(client.stats().stale, 1u);
        EXPECT_EQ(client.stats().retried, 0u);
    });
    EXPECT_EQ(backend.requests().size(), 2u);
}

TEST_F(ClientPoolTest, OnlyIdempotentRequestsAreSentAgain) {
    for (const Method method : {Method::get, Method::head, Method::put, Method::delete_, Method::options}) {
        ScriptedBackend backend({{answerText("")}, {"", Then::close}, {answerText(""), Then::close}});
        const Client client;
        inFiber([&] {
            client.request(backend.address(), ClientRequest(Method::get, "/"));
            EXPECT_EQ(client.request(backend.address(), ClientRequest(method, "/")).status(), http::Status::ok);
            EXPECT_EQ(client.stats().retried, 1u) << nameOf(method);
        });
        EXPECT_EQ(backend.requests().size(), 3u);
    }
    for (const Method method : {Method::post, Method::patch}) {
        ScriptedBackend backend({{answerText("")}, {"", Then::close}, {answerText("never asked for")}});
        const Client client;
        inFiber([&] {
            client.request(backend.address(), ClientRequest(Method::get, "/"));
            EXPECT_THROW(client.request(backend.address(), ClientRequest(method, "/")), ClientError);
            EXPECT_EQ(client.stats().retried, 0u) << nameOf(method);
        });
        EXPECT_EQ(backend.requests().size(), 2u);
    }
}

TEST_F(ClientPoolTest, ARequestThatIsSentAgainIsTheSame) {
    ScriptedBackend backend({{answerText("")}, {"", Then::close}, {answerText(""), Then::close}});
    const Client client;
    inFiber([&] {
        client.request(backend.address(), ClientRequest(Method::get, "/"));
        ClientRequest request(Method::put, "/again", Buffer::copyOf("body"));
        request.headers.add("X-Count", "1");
        client.request(backend.address(), std::move(request), {.host = "virtual.example"});
        EXPECT_EQ(client.stats().retried, 1u);
    });
    ASSERT_EQ(backend.requests().size(), 3u);
    EXPECT_EQ(backend.requests()[1], backend.requests()[2]);
    EXPECT_NE(backend.requests()[2].find("Host: virtual.example\r\n"), std::string::npos);
}

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

TEST_F(ClientPoolTest, InvalidArgumentsThrowAndNameTheAcceptedValues) {
    EXPECT_THROW(Client(with(&ClientOptions::maxPerHost, 0)), std::invalid_argument);
    EXPECT_THROW(Client(with(&ClientOptions::maxConnections, 0)), std::invalid_argument);
    ClientOptions never;
    never.idleTime = Duration::zero();
    EXPECT_THROW(Client{never}, std::invalid_argument);
    const Client client;
    EXPECT_THROW(client.get("http://127.0.0.1:1/"), std::logic_error);  // not in a fiber
    inFiber([&] {
        for (const char* url : {"", "127.0.0.1:1/", "https://127.0.0.1/", "http://", "http://a:0/", "http://a:70000/",
                                "http://a b/", "http://u@a/", "http://a/#top", "http://[::1/"}) {
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

TEST(UrlTest, SplitsIntoItsParts) {
    const auto both = [](const char* text) {
        const http::Url url = http::Url::parse(text);
        return url.origin.toString() + " " + url.origin.authority() + " " + url.target;
    };
    EXPECT_EQ(both("http://127.0.0.1:9000/a?b=/c"), "127.0.0.1:9000 127.0.0.1:9000 /a?b=/c");
    EXPECT_EQ(both("http://shop.test"), "shop.test:80 shop.test /");
    EXPECT_EQ(both("http://shop.test:8080?x"), "shop.test:8080 shop.test:8080 /?x");
    EXPECT_EQ(both("http://[::1]:90/"), "[::1]:90 [::1]:90 /");
    EXPECT_EQ(both("http://[::1]/"), "[::1]:80 [::1]:80 /");
    EXPECT_EQ(both("http://[fe80::1%257]:90/"), "[fe80::1%7]:90 [fe80::1]:90 /");
    EXPECT_EQ(both("http://[fe80::1%7]/"), "[fe80::1%7]:80 [fe80::1]:80 /");
}

}  // namespace
}  // namespace weft::test
