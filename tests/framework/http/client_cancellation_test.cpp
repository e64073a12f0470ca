// Requests of fibers that are cancelled or out of time: nothing is sent and no further address is tried.
#include <string>
#include <vector>

#include <weft/framework/resolver.hpp>
#include <weft/scheduler/cancel_scope.hpp>
#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/deadline_scope.hpp>

#include "framework/http/client_bench.hpp"
#include "framework/http/scripted_backend.hpp"
#include "transports/full_listener.hpp"

namespace weft::test {
namespace {

using http::Client;
using http::ClientError;
using http::ClientOptions;
using http::ClientRequest;
using http::Method;
using Then = ScriptedAnswer::Then;

struct ManyAddresses final : Resolver {
    Future<Addresses> resolve(std::string_view, std::uint16_t) override {
        asked.cancel();
        Promise<Addresses> promise;
        promise.setValue(Addresses(all.begin(), all.end()));
        return promise.future();
    }
    std::vector<SocketAddress> all;
    CancelSource asked;
};

class ClientCancellationTest : public ClientBench {};

TEST_F(ClientCancellationTest, ARequestOfACancelledFiberIsNotSent) {
    ScriptedBackend backend({{answerText("1")}, {answerText("2")}, {answerText("3"), Then::close}});
    const Client client;
    const std::string url = "http://" + backend.address().toString() + "/";
    const auto remove = [&] { client.request(backend.address(), ClientRequest(Method::delete_, "/row")); };
    inFiber([&] {
        client.get(url);
        JoinHandle<void> cancelled = carrier().spawn([&] {
            try {
                remove();
                ADD_FAILURE() << "no exception";
            } catch (const ClientError& error) {
                EXPECT_EQ(error.code(), operationAborted()) << error.what();
            }
            const CancellationShield shield;
            EXPECT_EQ(client.get(url).body(), "2");
        });
        cancelled.cancel();
        cancelled.join();
        try {
            timeout(-1s, remove);
            ADD_FAILURE() << "no exception";
        } catch (const SystemError& error) {
            EXPECT_EQ(error.code(), timedOut()) << error.what();
        }
        EXPECT_EQ(client.get(url).body(), "3");
        EXPECT_EQ(client.stats().opened, 1u);
    });
    EXPECT_EQ(backend.requests().size(), 3u);
}

TEST_F(ClientCancellationTest, AWaiterThatIsCancelledOnceItHasAConnectionSendsNothing) {
    ScriptedBackend backend({{answerText("1")}, {answerText("2")}, {answerText("3"), Then::close}});
    ClientOptions options;
    options.maxPerHost = 1;
    const Client client(options);
    inFiber([&] {
        http::ClientExchange first = client.begin(backend.address(), ClientRequest(Method::get, "/1"));
        ErrorCode error;
        JoinHandle<void> waiter = carrier().spawn(
            [&] { client.request(backend.address(), ClientRequest(Method::delete_, "/row"), {}, error); });
        EXPECT_TRUE(soon([&] { return client.stats().waiting == 1; }));
        while (first.read()) {
        }
        waiter.cancel();  // it has been woken, but has not run
        waiter.join();
        EXPECT_EQ(error, operationAborted());
        EXPECT_EQ(client.get("http://" + backend.address().toString() + "/2").body(), "2");
    });
    EXPECT_EQ(backend.requests().size(), 2u);
}

TEST_F(ClientCancellationTest, ARequestWhoseScopeEndsGoesToNoFurtherAddress) {
    ScriptedBackend backend({{answerText("1"), Then::close}});
    const FullListener silent;
    ManyAddresses resolver;
    resolver.all = {silent.address(), backend.address()};
    ClientOptions options;
    options.resolver = &resolver;
    const Client client(options);
    inFiber([&] {
        try {
            timeout(20ms, [&] { client.get("http://backend.test/"); });
            ADD_FAILURE() << "no exception";
        } catch (const SystemError& error) {
            EXPECT_EQ(error.code(), timedOut()) << error.what();
        }
        EXPECT_EQ(client.stats().opened, 0u);
        EXPECT_EQ(Client().get("http://" + backend.address().toString() + "/last").body(), "1");
    });
    EXPECT_EQ(backend.connections(), 1);  // connections are accepted in their order
}

TEST_F(ClientCancellationTest, ARequestThatIsCancelledDuringTheLookupConnectsNowhere) {
    ScriptedBackend backend({{answerText("1"), Then::close}});
    ManyAddresses resolver;
    resolver.all = {backend.address()};
    ClientOptions options;
    options.resolver = &resolver;
    const Client client(options);
    inFiber([&] {
        {
            const CancelScope scope(resolver.asked.token());
            try {
                client.get("http://backend.test/");
                ADD_FAILURE() << "no exception";
            } catch (const ClientError& error) {
                EXPECT_EQ(error.code(), operationAborted());
            }
        }
        EXPECT_EQ(Client().get("http://" + backend.address().toString() + "/last").body(), "1");
    });
    EXPECT_EQ(backend.connections(), 1);  // connections are accepted in their order
}

}  // namespace
}  // namespace weft::test
