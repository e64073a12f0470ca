// A fiber that connects to the first of several addresses, and requests of http::Client that do.
#include "first_connection.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include <weft/scheduler/cancel_scope.hpp>
#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/deadline_scope.hpp>

#include "framework/given_addresses.hpp"
#include "framework/http/client_bench.hpp"
#include "framework/http/scripted_backend.hpp"
#include "framework/reserved_port.hpp"
#include "transports/full_listener.hpp"

namespace weft::test {
namespace {

using http::connectToFirst;
using http::FirstConnection;
using Addresses = Resolver::Addresses;
using Then = ScriptedAnswer::Then;

// Connects succeed, and nothing accepts them: that would open descriptors in this process.
class ListeningPort {
  public:
    ListeningPort() : fd_(openTcpSocket(AF_INET)) {
        const SocketAddress any = SocketAddress::loopbackV4(0);
        EXPECT_EQ(::bind(fd_.get(), any.data(), any.size()), 0);
        EXPECT_EQ(::listen(fd_.get(), 8), 0);
    }
    SocketAddress address() const { return detail::localAddressOf(SystemCalls::kernel(), fd_.get()); }

  private:
    const Fd fd_;
};

constexpr Duration noLimit = std::chrono::hours(1);

class FirstConnectionTest : public ClientBench {};

TEST_F(FirstConnectionTest, AnAddressThatIsSilentDoesNotHideTheNext) {
    const ListeningPort backend;
    const FullListener silent;
    inFiber([&] {
        DescriptorGuard descriptors;
        JoinHandle<FirstConnection> connecting = carrier().spawn([&] {
            return connectToFirst({silent.address(), silent.address(), backend.address()}, noLimit, never);
        });
        EXPECT_TRUE(soon([&] { return connecting.done(); }));
        connecting.cancel();
        const FirstConnection first = connecting.join();
        EXPECT_FALSE(first.error) << first.error.message();
        EXPECT_TRUE(first.stream.isOpen() && first.stream.remoteAddress() == backend.address());
    });
}

TEST_F(FirstConnectionTest, ARefusalBeginsTheNextAttemptAtOnce) {
    const ListeningPort backend;
    const ReservedPort refusing;
    const FullListener silent;
    Addresses addresses(400, refusing.address());  // 100 s, if each delayed the next one
    addresses[0] = silent.address();
    addresses.push_back(backend.address());
    inFiber([&] {
        DescriptorGuard descriptors;
        const FirstConnection first = connectToFirst(addresses, noLimit, testDeadline());
        EXPECT_FALSE(first.error) << first.error.message();
    });
}

TEST_F(FirstConnectionTest, TheErrorOfTheLastFailureIsReportedAndEachIsNamed) {
    const ReservedPort refusing;
    const SocketAddress broadcast("255.255.255.255", 80);
    inFiber([&] {
        DescriptorGuard descriptors;
        const FirstConnection first = connectToFirst({refusing.address(), broadcast}, noLimit, never);
        EXPECT_EQ(first.error, fromErrno(ENETUNREACH));
        EXPECT_EQ(first.refusals, refusing.address().toString() + " (Connection refused), " + broadcast.toString() +
                                      " (Network is unreachable)");
    });
}

TEST_F(FirstConnectionTest, EachAttemptHasItsTime) {
    const FullListener silent;
    inFiber([&] {
        DescriptorGuard descriptors;
        const FirstConnection first =
            connectToFirst(Addresses(2, silent.address()), std::chrono::milliseconds(20), never);
        const std::string failure = silent.address().toString() + " (Connection timed out)";
        EXPECT_EQ(first.error, timedOut());
        EXPECT_EQ(first.refusals, failure + ", " + failure);
    });
}

TEST_F(FirstConnectionTest, AllAttemptsEndByTheDeadline) {
    const FullListener silent;
    inFiber([&] {
        DescriptorGuard descriptors;
        const Addresses addresses(3, silent.address());
        EXPECT_EQ(connectToFirst(addresses, noLimit, deadlineAfter(std::chrono::milliseconds(300))).error, timedOut());
    });
}

TEST_F(FirstConnectionTest, ACancellationEndsAllAttempts) {
    const FullListener silent;
    inFiber([&] {
        const std::size_t before = openDescriptors();
        JoinHandle<ErrorCode> connecting =
            carrier().spawn([&] { return connectToFirst(Addresses(3, silent.address()), noLimit, never).error; });
        EXPECT_TRUE(soon([&] { return openDescriptors() >= before + 2; }));
        connecting.cancel();
        EXPECT_EQ(connecting.join(), operationAborted());
        EXPECT_EQ(openDescriptors(), before);
    });
}

TEST_F(FirstConnectionTest, TheDeadlineOfAScopeEndsAllAttempts) {
    const FullListener silent;
    inFiber([&] {
        DescriptorGuard descriptors;
        const DeadlineScope scope(deadlineAfter(std::chrono::milliseconds(300)));
        EXPECT_EQ(connectToFirst(Addresses(3, silent.address()), noLimit, never).error, operationAborted());
    });
}

TEST_F(FirstConnectionTest, AShieldDefersACancellationForAllAttempts) {
    const ListeningPort backend;
    const FullListener silent;
    inFiber([&] {
        CancelSource source;
        const CancelScope scope(source.token());
        source.cancel();
        const CancellationShield shield;
        EXPECT_FALSE(connectToFirst({silent.address(), backend.address()}, noLimit, never).error);
    });
}

TEST_F(FirstConnectionTest, AShutdownEndsAllAttemptsAndBeginsNone) {
    const FullListener silent;
    ErrorCode during, after;
    const std::size_t before = openDescriptors();
    JoinHandle<void> connecting = carrier().spawn([&] {
        during = connectToFirst(Addresses(3, silent.address()), noLimit, never).error;
        EXPECT_THROW(thisFiber::sleepFor(noLimit), SystemError);  // until the carrier, too, shuts down
        const CancellationShield shield;                          // does not defer a shutdown
        after = connectToFirst(Addresses(3, silent.address()), noLimit, never).error;
    });
    EXPECT_TRUE(eventually([&] { return openDescriptors() >= before + 2; }));
    EXPECT_TRUE(group_.shutdown(20s));
    connecting.join();
    EXPECT_EQ(during, operationAborted());
    EXPECT_EQ(after, operationAborted());
}

TEST(FirstConnectionWithoutSocketsTest, AMistakeOfTheProgramReachesTheCaller) {
    CarrierGroup group(carrierOptions("test", 1));
    GivenAddresses resolver({SocketAddress::loopbackV4(1), SocketAddress::loopbackV4(2)});
    http::ClientOptions options;
    options.resolver = &resolver;
    const http::Client client(options);
    JoinHandle<void> caller =
        group.carrier(0).spawn([&] { EXPECT_THROW(client.get("http://backend.test/"), std::logic_error); });
    caller.join();
}

// Requests by name.
class ClientByNameTest : public FirstConnectionTest {
  protected:
    std::string bodyFrom(Addresses addresses) {
        GivenAddresses resolver(std::move(addresses));
        const http::Client client(optionsOf(resolver));
        return std::string(client.get("http://backend.test/", {.timeout = noLimit}).body());
    }
    std::string failureOf(Addresses addresses) {
        GivenAddresses resolver(std::move(addresses));
        const http::Client client(optionsOf(resolver));
        try {
            client.get("http://backend.test/");
            return "no exception";
        } catch (const http::ClientError& error) {
            return error.what();
        }
    }

  private:
    static http::ClientOptions optionsOf(Resolver& resolver) {
        http::ClientOptions options;
        options.resolver = &resolver;
        options.connectTimeout = noLimit;
        return options;
    }
};

TEST_F(ClientByNameTest, ARequestIsAnsweredBesideASilentAddress) {
    ScriptedBackend backend({{answerText("1"), Then::close}});
    const FullListener silent;
    inFiber([&] { EXPECT_EQ(bodyFrom({silent.address(), backend.address()}), "1"); });
}

TEST_F(ClientByNameTest, TheDefaultLimitsOfALookupAndOfAConnectLeaveTimeForTheRest) {
    EXPECT_LT(ResolverOptions().timeout + http::ClientOptions().connectTimeout, http::RequestOptions().timeout);
}

TEST_F(ClientByNameTest, FamiliesAlternateAndAFailureNamesEachAddress) {
    const ReservedPort refusing;
    const SocketAddress v4 = refusing.address();
    const SocketAddress v6("::1", v4.port());  // refused, or not available here
    inFiber([&] {
        const std::string text = failureOf({v4, v4, v6});
        const std::string begin = "GET http://backend.test:80/: cannot connect to " + v4.toString() +
                                  " (Connection refused), " + v6.toString() + " (";
        EXPECT_EQ(text.substr(0, begin.size()), begin);
        EXPECT_NE(text.find("), " + v4.toString() + " (Connection refused); check that the server is running"),
                  std::string::npos)
            << text;
    });
}

}  // namespace
}  // namespace weft::test
