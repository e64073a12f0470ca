// The connections of http::Client: reuse, limits, the queue, idle and stale connections, retries. What is sent on them:
// client_request_test.cpp.
#include <weft/http/client.hpp>

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "framework/http/client_pool_bench.hpp"
#include "framework/http/scripted_backend.hpp"

namespace weft::test {
namespace {

using http::Client;
using http::ClientError;
using http::ClientOptions;
using http::ClientRequest;
using http::ClientStats;
using http::Method;
using Then = ScriptedAnswer::Then;

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

}  // namespace
}  // namespace weft::test
