// Connects by name that take several attempts, some of them at once: which one wins, and what becomes of the others.
#include "connect_attempts.hpp"

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/framework/bootstrap.hpp>
#include <weft/testing/sockets_bench.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>

#include "framework/bench.hpp"
#include "framework/given_addresses.hpp"
#include "framework/reserved_port.hpp"
#include "transports/counting_system_calls.hpp"
#include "transports/full_listener.hpp"

namespace weft::test {
namespace {

using Addresses = Resolver::Addresses;

std::string textOf(const ChannelFuture& failed) {
    return describe(failed.cause());
}

// Attempts have no time limit, so that one that hides the next hides it for ever.
class ConnectAttemptsTest : public ::testing::Test {
  protected:
    ChannelFuture connectTo(Addresses addresses, std::function<void(Channel&)> fill = {}) {
        resolvers_.push_back(std::make_unique<GivenAddresses>(std::move(addresses)));
        return Bootstrap(group_)
            .resolver(*resolvers_.back())
            .connectTimeout(0ms)
            .handler([this, fill](Channel& channel) {
                ++begun_;
                channel.closeFuture().addListener([this](const ChannelFuture&) { ++closed_; });
                if (fill) fill(channel);
            })
            .connect("backend.test", 80);
    }
    SocketAddress remoteOf(const ChannelFuture& connected) {
        Promise<SocketAddress> remote;
        connected.channel()->loop().execute([&] { remote.setValue(connected.channel()->remoteAddress()); });
        return remote.future().get();
    }
    // Also when more have begun since, on a busy machine.
    bool haveBegun(int attempts) {
        return eventually([&] { return begun_ >= attempts; });
    }
    bool haveClosed(int attempts) {
        return eventually([&] { return closed_ == attempts; });
    }

    DescriptorGuard descriptors_;  // also of what the members below open
    std::atomic<int> begun_{0};
    std::atomic<int> closed_{0};
    std::vector<std::unique_ptr<Resolver>> resolvers_;
    EventLoopGroup group_{groupOptions(1)};
    Server server_ = serveEcho(group_);
};

// Keeps the first connect of its bootstrap from the transport until release().
class HeldConnect {
  public:
    explicit HeldConnect(bool cancellable) : cancellable_(cancellable) {}
    auto handler() {
        return [this](Channel& channel) {
            if (!std::exchange(added_, true)) channel.pipeline().addLast<Handler>(*this);
        };
    }
    // Context: the loop.
    void release() { release_(); }

  private:
    struct Handler final : ChannelDuplexHandler {
        explicit Handler(HeldConnect& owner) : owner(owner) {}
        void connect(ChannelHandlerContext& ctx, const SocketAddress& remote, const SocketAddress*,
                     ChannelPromise promise) override {
            if (!owner.cancellable_) promise.setUncancellable();
            owner.release_ = [&ctx, remote, promise] { ctx.connect(remote, nullptr, promise); };
        }
        HeldConnect& owner;
    };

    const bool cancellable_;
    bool added_ = false;
    std::function<void()> release_;
};

struct Mistaken final : ChannelDuplexHandler {
    void connect(ChannelHandlerContext&, const SocketAddress&, const SocketAddress*, ChannelPromise) override {
        throw std::runtime_error("on purpose");
    }
};

TEST_F(ConnectAttemptsTest, AnAddressThatIsSilentDoesNotHideTheNextAndIsLeft) {
    const FullListener silent;
    const ChannelFuture connected = connectTo({silent.address(), silent.address(), server_.localAddress()});
    ASSERT_TRUE(connected.awaitUntil(testDeadline()));
    ASSERT_TRUE(connected.success());
    EXPECT_EQ(remoteOf(connected), server_.localAddress());
    EXPECT_TRUE(haveClosed(2));
    connected.channel()->close().sync();
    EXPECT_EQ(begun_, 3);
}

TEST_F(ConnectAttemptsTest, ARefusalBeginsTheNextAttemptAtOnce) {
    const ReservedPort refusing;
    const FullListener silent;
    Addresses addresses(400, refusing.address());  // 100 s, if each delayed the next one
    addresses[0] = silent.address();
    addresses.push_back(server_.localAddress());
    const ChannelFuture connected = connectTo(addresses);
    EXPECT_TRUE(connected.awaitUntil(testDeadline()));
    EXPECT_TRUE(connected.success());
    EXPECT_TRUE(haveClosed(400));
}

TEST_F(ConnectAttemptsTest, FamiliesAlternate) {
    const ReservedPort refusing;
    const SocketAddress v4 = refusing.address();
    const SocketAddress v6("::1", v4.port());  // refused, or not available here
    const ChannelFuture failed = connectTo({v4, v4, v6});
    failed.await();
    const std::string text = textOf(failed);
    const std::size_t other = text.find(v6.toString());
    ASSERT_NE(other, std::string::npos) << text;
    EXPECT_LT(text.find(v4.toString()), other) << text;
    EXPECT_GT(text.rfind(v4.toString()), other) << text;
}

TEST_F(ConnectAttemptsTest, TheErrorOfTheLastFailureIsReportedAndEachIsNamed) {
    const ReservedPort refusing;
    const SocketAddress broadcast("255.255.255.255", 80);
    const ChannelFuture failed = connectTo({refusing.address(), broadcast});
    failed.await();
    EXPECT_EQ(failed.error(), fromErrno(ENETUNREACH));
    const std::string text = textOf(failed);
    for (const SocketAddress& each : {refusing.address(), broadcast})
        EXPECT_NE(text.find(each.toString() + " ("), std::string::npos) << text;
}

TEST_F(ConnectAttemptsTest, AddressesThatAreAllSilentAreAllNamed) {
    const FullListener first;
    const FullListener second;
    GivenAddresses resolver({first.address(), second.address()});
    const ChannelFuture failed = Bootstrap(group_).resolver(resolver).connectTimeout(20ms).connect("backend.test", 80);
    failed.await();
    EXPECT_EQ(failed.error(), timedOut());
    const std::string text = textOf(failed);
    for (const FullListener* each : {&first, &second})
        EXPECT_NE(text.find(each->address().toString() + " ("), std::string::npos) << text;
}

TEST_F(ConnectAttemptsTest, ACancelledConnectEndsAllItsAttempts) {
    const FullListener silent;
    const ChannelFuture connected = connectTo({silent.address(), silent.address()});
    ASSERT_TRUE(haveBegun(2));
    EXPECT_TRUE(connected.cancel());
    EXPECT_TRUE(haveClosed(2));
}

TEST_F(ConnectAttemptsTest, AnAttemptThatHasNotReachedTheTransportIsClosedWhenAnotherConnects) {
    HeldConnect held(true);
    const ChannelFuture connected = connectTo({server_.localAddress(), server_.localAddress()}, held.handler());
    connected.sync();
    EXPECT_TRUE(haveClosed(1));
    EXPECT_FALSE(connected.channel()->closed());
}

TEST_F(ConnectAttemptsTest, AnAttemptThatConnectsAfterAnotherIsClosed) {
    HeldConnect held(false);
    const ChannelFuture connected = connectTo({server_.localAddress(), server_.localAddress()}, held.handler());
    connected.sync();
    connected.channel()->loop().execute([&] { held.release(); });
    EXPECT_TRUE(haveClosed(1));
    EXPECT_FALSE(connected.channel()->closed());
}

TEST_F(ConnectAttemptsTest, AMistakeOfTheProgramEndsTheOtherAttempts) {
    const FullListener silent;
    const ChannelFuture failed =
        connectTo({silent.address(), silent.address(), silent.address()}, [&](Channel& channel) {
            if (begun_ == 2) channel.pipeline().addLast<Mistaken>();
        });
    failed.await();
    EXPECT_TRUE(textOf(failed).starts_with("on purpose")) << textOf(failed);
    EXPECT_TRUE(haveClosed(2));
    EXPECT_EQ(begun_, 2);
}

TEST_F(ConnectAttemptsTest, TheEndOfTheLoopEndsThem) {
    const FullListener silent;
    const ChannelFuture failed = connectTo({silent.address(), silent.address(), silent.address()});
    ASSERT_TRUE(haveBegun(2));
    EXPECT_TRUE(group_.shutdown(20s));
    ASSERT_TRUE(failed.awaitUntil(testDeadline()));
    EXPECT_FALSE(failed.success());
    EXPECT_EQ(closed_, begun_);
}

TEST_F(ConnectAttemptsTest, AGracefulShutdownEndsThem) {
    const FullListener silent;
    const ChannelFuture failed = connectTo({silent.address(), silent.address(), silent.address()});
    ASSERT_TRUE(haveBegun(2));
    group_.shutdownGracefully(0ms, 1h).await();
    ASSERT_TRUE(failed.awaitUntil(testDeadline()));
    EXPECT_FALSE(failed.success());
    EXPECT_EQ(closed_, begun_);
}

// The calls fail, rather than the process have no descriptor left: the check of types of the undefined behaviour
// sanitizer opens a pipe, and reports objects as wrong that it cannot read without.
class NoSockets final : public CountingSystemCalls {
    int socket(int, int, int) noexcept override { return -EMFILE; }
};

// A name may have some thousand addresses.
TEST(ConnectAttemptsWithoutSockets, TakeNoStackEach) {
    NoSockets calls;
    EventLoopGroupOptions options = groupOptions(1);
    options.ioHandler = [&calls](std::unique_ptr<SocketIoHandler>) { return std::make_unique<EpollIoHandler>(calls); };
    EventLoopGroup group(options);
    GivenAddresses many(Resolver::Addresses(20'000, SocketAddress::loopbackV4(1)));
    const ChannelFuture failed = Bootstrap(group).resolver(many).connect("backend.test", 80);
    failed.await();
    EXPECT_EQ(failed.error(), fromErrno(EMFILE));
}

TEST(ConnectOnceTest, AConnectThatIsCancelledBeforeItsLoopHasBegunItClosesItsChannel) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(1));
    Server server = serveEcho(group);
    Promise<void> goOn;
    group.loop(0).execute([&] {
        const Future<void> released = goOn.future();
        while (!released.done()) std::this_thread::yield();
    });
    const ChannelFuture connected = Bootstrap(group).connect(server.localAddress());
    EXPECT_TRUE(connected.cancel());
    goOn.setValue();
    EXPECT_TRUE(connected.channel()->closeFuture().awaitUntil(testDeadline()));
}

TEST(ConnectOnceTest, AConnectThatAHandlerFailsClosesItsChannel) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(1));
    const ChannelFuture failed = Bootstrap(group)
                                     .handler([](Channel& channel) { channel.pipeline().addLast<Mistaken>(); })
                                     .connect(SocketAddress::loopbackV4(1));
    EXPECT_TRUE(failed.channel()->closeFuture().awaitUntil(testDeadline()));
    EXPECT_TRUE(textOf(failed).starts_with("on purpose")) << textOf(failed);
}

}  // namespace
}  // namespace weft::test
