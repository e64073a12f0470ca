// Client connections by name: resolution, fallback to the next address, retries, the local address.
#include <weft/framework/bootstrap.hpp>

#include <map>
#include <mutex>
#include <vector>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/framework/resolver.hpp>

#include "framework/bench.hpp"

namespace weft::test {
namespace {

using Addresses = Resolver::Addresses;

// Answers when the test tells it to.
class HeldResolver final : public Resolver {
  public:
    Future<Addresses> resolve(std::string_view host, std::uint16_t) override {
        std::lock_guard held(lock_);
        Future<Addresses> answer = promise_.future();
        asked_ = host;
        return answer;
    }
    void answer(Addresses addresses) { promise_.setValue(std::move(addresses)); }
    void fail(ErrorCode error) { promise_.setError(std::make_exception_ptr(SystemError(error, "no such host"))); }
    std::string asked() {
        std::lock_guard held(lock_);
        return asked_;
    }

  private:
    std::mutex lock_;
    std::string asked_;
    Promise<Addresses> promise_;
};

// A port that refuses connections until listen(): no other process can take it meanwhile.
class QuietPort {
  public:
    QuietPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), address_(anyPort) {
        socklen_t size = address_.size();
        EXPECT_EQ(::bind(fd_, address_.data(), size), 0);
        EXPECT_EQ(::getsockname(fd_, address_.data(), &size), 0);
    }
    ~QuietPort() { ::close(fd_); }
    const SocketAddress& address() const { return address_; }
    void listen() const { EXPECT_EQ(::listen(fd_, 8), 0); }

  private:
    const int fd_;
    SocketAddress address_;
};

// Counts closed channels, that is, failed attempts.
Bootstrap& counting(Bootstrap& bootstrap, std::atomic<int>& closed) {
    return bootstrap.handler([&closed](Channel& channel) {
        channel.closeFuture().addListener([&closed](const ChannelFuture&) { ++closed; });
    });
}

std::string textOf(const ChannelFuture& failed) {
    return describe(failed.cause());
}
bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(BootstrapNameTest, B2_ANameIsResolvedByTheSystemAndConnected) {
    addrinfo* found = nullptr;
    if (::getaddrinfo("localhost", nullptr, nullptr, &found) != 0)
        GTEST_SKIP() << "this system does not know localhost";
    ::freeaddrinfo(found);
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(1));
    Server server = serveEcho(group);
    // ::1, where nothing listens, may come first; then 127.0.0.1 is tried next.
    const ChannelFuture connected = Bootstrap(group).connect("localhost", server.localAddress().port());
    connected.sync();
    ASSERT_TRUE(connected.channel());
    EXPECT_TRUE(connected.channel()->active());
    connected.channel()->close().sync();
}

TEST(BootstrapNameTest, TheNextAddressIsTriedWhenOneRefuses) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(1));
    Server server = serveEcho(group);
    const QuietPort quiet;
    HeldResolver resolver;
    const ChannelFuture connected =
        Bootstrap(group).resolver(resolver).connect("backend.test", server.localAddress().port());
    EXPECT_EQ(resolver.asked(), "backend.test");
    EXPECT_FALSE(connected.done());
    EXPECT_FALSE(connected.channel());
    resolver.answer({quiet.address(), quiet.address(), server.localAddress()});
    connected.sync();
    Promise<SocketAddress> remote;
    connected.channel()->loop().execute([&] { remote.setValue(connected.channel()->remoteAddress()); });
    EXPECT_EQ(remote.future().get(), server.localAddress());
    connected.channel()->close().sync();
}

TEST(BootstrapNameTest, AFailureNamesTheHostEachAddressAndWhatToDo) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(1));
    const QuietPort first;
    const QuietPort second;
    HeldResolver resolver;
    const ChannelFuture connected = Bootstrap(group).resolver(resolver).connect("backend.test", 80);
    resolver.answer({first.address(), second.address()});
    connected.await();
    EXPECT_EQ(connected.error(), fromErrno(ECONNREFUSED));
    const std::string text = textOf(connected);
    for (const std::string& part : {std::string("connect to backend.test:80"), first.address().toString(),
                                    second.address().toString(), std::string("check that the server is running")}) {
        EXPECT_TRUE(contains(text, part)) << part << " in " << text;
    }
    EXPECT_FALSE(connected.channel());
}

TEST(BootstrapNameTest, ANameThatCannotBeResolvedFailsWithIt) {
    EventLoopGroup group(groupOptions(1));
    HeldResolver resolver;
    const ChannelFuture connected = Bootstrap(group).resolver(resolver).connect("nobody.test", 80);
    resolver.fail(fromErrno(EAGAIN));
    connected.await();
    EXPECT_EQ(connected.error(), fromErrno(EAGAIN));
    EXPECT_TRUE(contains(textOf(connected), "no such host")) << textOf(connected);
    // No label of a name may be this long, so the system refuses it without a query.
    const std::string impossible(70, 'x');
    const Future<Addresses> unknown = Resolver::system().resolve(impossible, 1);
    unknown.await();
    EXPECT_TRUE(contains(describe(unknown.error()), "cannot resolve '" + impossible + "'"))
        << describe(unknown.error());
    EXPECT_TRUE(contains(describe(unknown.error()), "numeric address"));
}

TEST(BootstrapNameTest, TextThatCannotBeAHostIsRefusedAtOnce) {
    EventLoopGroup group(groupOptions(1));
    for (const std::string host : {"127.0.0.1:80", "http://x", "a b", "[::1", "::zz", ""}) {
        try {
            Bootstrap(group).connect(host, 80);
            ADD_FAILURE() << "no exception for " << host;
        } catch (const std::invalid_argument& error) {
            EXPECT_TRUE(contains(error.what(), "'" + host + "'")) << error.what();
        }
    }
    EXPECT_THROW(Bootstrap(group).connect(std::string(254, 'x'), 80), std::invalid_argument);
}

// A filter of host names would see another host than inet_pton() or getaddrinfo() connects to.
TEST(BootstrapNameTest, ATextThatOnlyLooksLikeAnotherHostIsRefused) {
    using namespace std::string_literals;
    EventLoopGroup group(groupOptions(1));
    HeldResolver resolver;
    Bootstrap bootstrap(group);
    bootstrap.resolver(resolver);
    for (const std::string& host :
         {"127.0.0.1\0.example.com"s, "localhost\0.example.com"s, "::1\0"s, "\0"s, "127.1"s, "2130706433"s,
          "0x7f000001"s, "0177.0.0.1"s, "127.0.0.1."s, "a.0x7f"s, "fe80::1%nowhere0"s, "127.0.0.1%lo"s, "a\nb"s}) {
        EXPECT_THROW(bootstrap.connect(host, 80), std::invalid_argument) << host;
        EXPECT_THROW(http::Origin(host, 80), std::invalid_argument) << host;
    }
    try {
        bootstrap.connect("127.0.0.1\0.example.com"s, 80);
    } catch (const std::invalid_argument& error) {
        EXPECT_TRUE(contains(error.what(), "'127.0.0.1\\x00.example.com'")) << error.what();
    }
    EXPECT_EQ(resolver.asked(), "");
}

TEST(BootstrapNameTest, NamesWithDigitsAreResolvedAsNames) {
    for (const char* host : {"a1", "1a", "1.a", "127.0.0.1.example.com", "0x7g", "x.0y", "db-1", "a."}) {
        EXPECT_NO_THROW(detail::requireHostName(host)) << host;
    }
}

TEST(BootstrapNameTest, AResolverThatThrowsLeavesNothingBehind) {
    struct Broken final : Resolver {
        Future<Addresses> resolve(std::string_view, std::uint16_t) override { throw std::bad_alloc(); }
    };
    Broken resolver;
    EventLoopGroup group(groupOptions(1));
    EXPECT_THROW(Bootstrap(group).resolver(resolver).connect("backend.test", 80), std::bad_alloc);
    EXPECT_TRUE(group.shutdown(testDeadline() - Clock::steady().now()));
}

TEST(BootstrapNameTest, NumericHostsNeverReachTheResolver) {
    EventLoopGroup group(groupOptions(1));
    Server server = serveEcho(group);
    HeldResolver resolver;
    const ChannelFuture connected =
        Bootstrap(group).resolver(resolver).connect("127.0.0.1", server.localAddress().port()).sync();
    EXPECT_EQ(resolver.asked(), "");
    connected.channel()->close().sync();
}

TEST(BootstrapNameTest, AnswersThatComeAfterTheGroupsEndAreDropped) {
    HeldResolver resolver;
    ChannelFuture connected;
    {
        EventLoopGroup group(groupOptions(1));
        connected = Bootstrap(group).resolver(resolver).connect("backend.test", 80);
    }
    EXPECT_EQ(connected.error(), operationAborted());
    EXPECT_TRUE(contains(textOf(connected), "backend.test:80")) << textOf(connected);
    resolver.answer({SocketAddress::loopbackV4(1)});
}

TEST(BootstrapNameTest, L3_AGracefulShutdownFailsLookupsThatWaitAndThoseToCome) {
    HeldResolver resolver;
    EventLoopGroup group(groupOptions(2));
    Bootstrap bootstrap(group);
    bootstrap.resolver(resolver);
    const ChannelFuture waiting = bootstrap.connect("backend.test", 80);
    group.shutdownGracefully(0ms, 1h).await();
    ASSERT_TRUE(waiting.done());
    EXPECT_EQ(waiting.error(), operationAborted());
    EXPECT_TRUE(contains(textOf(waiting), "backend.test:80")) << textOf(waiting);
    const ChannelFuture late = bootstrap.connect("backend.test", 80);
    ASSERT_TRUE(late.done());
    EXPECT_EQ(late.error(), operationAborted());
    resolver.answer({SocketAddress::loopbackV4(1)});
}

TEST(BootstrapNameTest, L3_LookupsForLoopsThatAnotherGroupUsesGoOn) {
    CarrierGroup carriers(carrierOptions("test", 1));
    EventLoopGroup other(carriers);
    Server server = serveEcho(other);
    HeldResolver resolver;
    EventLoopGroup group(carriers);
    const ChannelFuture connected =
        Bootstrap(other).resolver(resolver).connect("backend.test", server.localAddress().port());
    group.shutdownGracefully(0ms, 1h).await();
    EXPECT_FALSE(connected.done());
    resolver.answer({server.localAddress()});
    connected.sync();
    connected.channel()->close().sync();
}

TEST(BootstrapNameTest, ALookupMayBeCancelled) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(1));
    Server server = serveEcho(group);
    HeldResolver resolver;
    const ChannelFuture connected = Bootstrap(group).resolver(resolver).connect("backend.test", 80);
    EXPECT_TRUE(connected.cancel());
    resolver.answer({server.localAddress()});
    EXPECT_TRUE(connected.cancelled());
    EXPECT_FALSE(connected.channel());
}

TEST(BootstrapRetryTest, ARefusedConnectIsTriedAgainUntilSomebodyListens) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(1));
    const QuietPort port;
    std::atomic<int> refused{0};
    Bootstrap bootstrap(group);
    const ChannelFuture connected = counting(bootstrap, refused).retry(1'000'000, 1ms).connect(port.address());
    ASSERT_TRUE(eventually([&] { return refused > 1; }));
    EXPECT_FALSE(connected.channel());
    port.listen();
    connected.sync();
    EXPECT_TRUE(connected.channel()->active());
    connected.channel()->close().sync();
}

TEST(BootstrapRetryTest, ItGivesUpAfterTheLastAttemptAndReportsTheirNumber) {
    EventLoopGroup group(groupOptions(1));
    const QuietPort port;
    const ChannelFuture connected = Bootstrap(group).retry(2, 1ms).connect(port.address());
    connected.await();
    EXPECT_EQ(connected.error(), fromErrno(ECONNREFUSED));
    EXPECT_TRUE(contains(textOf(connected), port.address().toString() + " failed in 3 rounds")) << textOf(connected);
    EXPECT_THROW(Bootstrap(group).retry(1, -1ms), std::invalid_argument);
}

TEST(BootstrapRetryTest, APauseMayBeCancelledAndEndsWithTheLoop) {
    const QuietPort port;
    ChannelFuture left;
    {
        std::atomic<int> refused{0};
        EventLoopGroup group(groupOptions(1));
        Bootstrap bootstrap(group);
        counting(bootstrap, refused).retry(1, 1h);
        const ChannelFuture cancelled = bootstrap.connect(port.address());
        left = bootstrap.connect(port.address());
        ASSERT_TRUE(eventually([&] { return refused == 2; }));
        EXPECT_TRUE(cancelled.cancel());
        EXPECT_TRUE(cancelled.cancelled());
    }
    left.await();
    EXPECT_EQ(left.error(), operationAborted());
}

TEST(BootstrapRetryTest, AMistakeOfTheProgramIsNotTriedAgain) {
    EventLoopGroup group(groupOptions(1));
    Server server = serveEcho(group);
    std::atomic<int> calls{0};
    Bootstrap bootstrap(group);
    bootstrap.handler([&](Channel&) {
        ++calls;
        throw std::runtime_error("on purpose");
    });
    bootstrap.retry(5, 1ms).connect(server.localAddress()).await();
    EXPECT_EQ(calls, 1);
}

TEST(BootstrapLocalAddressTest, TheConnectionUsesTheLocalAddress) {
    DescriptorGuard descriptors;
    Promise<SocketAddress> seen;  // before the group: its loop uses it until the end, even when the test fails
    EventLoopGroup group(groupOptions(1));
    struct Tell final : ChannelInboundHandler {
        explicit Tell(Promise<SocketAddress>& seen) : seen_(seen) {}
        void channelActive(ChannelHandlerContext& ctx) override { seen_.setValue(ctx.channel().remoteAddress()); }
        Promise<SocketAddress>& seen_;
    };
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([&](Channel& channel) { channel.pipeline().addLast<Tell>(seen); });
    Server server = bootstrap.bind(anyPort).sync().channel();
    const ChannelFuture connected =
        Bootstrap(group).localAddress(SocketAddress("127.0.0.3", 0)).connect(server.localAddress()).sync();
    EXPECT_EQ(seen.future().get().host(), "127.0.0.3");
    connected.channel()->close().sync();
}

TEST(BootstrapLocalAddressTest, ALocalAddressOfAnotherFamilyIsRefusedAndNamed) {
    EventLoopGroup group(groupOptions(1));
    HeldResolver resolver;
    Bootstrap bootstrap(group);
    bootstrap.resolver(resolver).localAddress(SocketAddress("::1", 0));
    const ChannelFuture connected = bootstrap.connect("backend.test", 80);
    resolver.answer({SocketAddress::loopbackV4(1)});
    connected.await();
    EXPECT_EQ(connected.error(), fromErrno(EAFNOSUPPORT));
    EXPECT_TRUE(contains(textOf(connected), "localAddress([::1]:0)")) << textOf(connected);
}

}  // namespace
}  // namespace weft::test
