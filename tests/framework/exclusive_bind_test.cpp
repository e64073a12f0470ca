// A port belongs to one server, even when several bind at the same time; the listeners of that server share it.
#include <weft/framework/server_bootstrap.hpp>

#include <array>
#include <atomic>
#include <barrier>
#include <limits>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "framework/bench.hpp"
#include "framework/contender.hpp"
#include "framework/reserved_port.hpp"

namespace weft::test {
namespace {

constexpr int rounds = 300;

// Expects that every round ends with exactly one server, and with EADDRINUSE for all others.
void contend(std::vector<AcceptMode> modes) {
    const ReservedPort port;
    const SocketAddress address = port.address();
    std::vector<std::unique_ptr<Contender>> contenders;
    for (const AcceptMode mode : modes) contenders.push_back(std::make_unique<Contender>(mode));
    int rightRounds = 0;
    const auto judge = [&]() noexcept {
        int owners = 0;
        for (auto& one : contenders) {
            if (one->giveUp()) {
                ++owners;
            } else {
                EXPECT_EQ(one->error(), fromErrno(EADDRINUSE));
            }
        }
        rightRounds += owners == 1;
    };
    std::barrier start(static_cast<std::ptrdiff_t>(contenders.size()));
    std::barrier end(static_cast<std::ptrdiff_t>(contenders.size()), judge);
    std::vector<std::thread> threads;
    for (auto& one : contenders) {
        threads.emplace_back([&, contender = one.get()] {
            for (int round = 0; round < rounds; ++round) {
                start.arrive_and_wait();
                contender->bindOnce(address);
                end.arrive_and_wait();
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(rightRounds, rounds) << "rounds in which exactly one of the servers had the port";
}

TEST(ExclusiveBindTest, OfTwoServersWithAListenerPerLoopExactlyOneHasThePort) {
    contend({AcceptMode::perLoop, AcceptMode::perLoop});
}

TEST(ExclusiveBindTest, OfTwoServersWithOneListenerExactlyOneHasThePort) {
    contend({AcceptMode::single, AcceptMode::single});
}

TEST(ExclusiveBindTest, OfFourServersOfEveryKindExactlyOneHasThePort) {
    contend({AcceptMode::perLoop, AcceptMode::single, AcceptMode::perLoop, AcceptMode::single});
}

// A listener that shares its port finds it free while all others share it too, however late it binds.
TEST(ExclusiveBindTest, ADelayedBindDoesNotShareThePortOfAFasterOne) {
    const ReservedPort port;
    EventLoopGroup slow(groupOptions(2));
    std::counting_semaphore<> mayGoOn{0};
    ServerBootstrap bootstrap(slow);
    bootstrap.acceptMode(AcceptMode::perLoop).childHandler([](Channel&) {});
    slow.loop(0).execute([&] { mayGoOn.acquire(); });
    const BindFuture bound = bootstrap.bind(port.address());  // its listeners have to wait
    Contender fast(AcceptMode::perLoop);
    fast.bindOnce(port.address());
    mayGoOn.release();
    bound.await();
    EXPECT_TRUE(fast.giveUp());
    ASSERT_TRUE(bound.cause());
    EXPECT_EQ(errorCodeOf(bound.cause()), fromErrno(EADDRINUSE));
}

// Refuses the first binds of a channel, as the kernel does while another socket tries in vain to listen.
struct RefusesBinds final : ChannelHandler {
    explicit RefusesBinds(int times) : left(times) {}
    void bind(ChannelHandlerContext& ctx, const SocketAddress& local, ChannelPromise promise) override {
        if (left-- > 0) return void(promise.tryFailure(fromErrno(EADDRINUSE)));
        ctx.bind(local, std::move(promise));
    }
    int left;
};

// The first listener has the port by then, so no other server can keep the rest from it.
TEST(ExclusiveBindTest, AListenerAfterTheFirstRetriesItsBind) {
    EventLoopGroup group(groupOptions(3));
    ServerBootstrap bootstrap(group);
    std::atomic<int> made{0};
    bootstrap.acceptMode(AcceptMode::perLoop).childHandler([](Channel&) {});
    bootstrap.handler([&](Channel& listener) {
        if (made++ > 0) listener.pipeline().addLast<RefusesBinds>(3);
    });
    EXPECT_EQ(bootstrap.bind(anyPort).sync().channel().listeners().size(), 3u);
}

TEST(ExclusiveBindTest, AListenerAfterTheFirstDoesNotRetryForEver) {
    EventLoopGroup group(groupOptions(2));
    ServerBootstrap bootstrap(group);
    std::atomic<int> made{0};
    bootstrap.acceptMode(AcceptMode::perLoop).childHandler([](Channel&) {});
    bootstrap.handler([&](Channel& listener) {
        if (made++ > 0) listener.pipeline().addLast<RefusesBinds>(std::numeric_limits<int>::max());
    });
    const BindFuture bound = bootstrap.bind(anyPort);
    bound.await();
    ASSERT_TRUE(bound.cause());
    EXPECT_EQ(errorCodeOf(bound.cause()), fromErrno(EADDRINUSE));
}

// The kernel balances connections over the listeners although the first one was bound without SO_REUSEPORT.
TEST(ExclusiveBindTest, TheListenersOfAServerShareItsConnections) {
    for (const bool chosenByTheKernel : {true, false}) {
        const ReservedPort port;
        EventLoopGroup group(groupOptions(3));
        std::array<std::atomic<int>, 3> accepted{};
        ServerBootstrap bootstrap(group);
        bootstrap.acceptMode(AcceptMode::perLoop).childHandler([&](Channel& channel) {
            ++accepted[channel.loop().carrier()->index()];
            channel.pipeline().addLast<Echo>();
        });
        Server server = bootstrap.bind(chosenByTheKernel ? anyPort : port.address()).sync().channel();
        std::vector<std::unique_ptr<BlockingPeer>> peers;
        for (int i = 0; i < 96; ++i) {
            peers.push_back(std::make_unique<BlockingPeer>(server.localAddress()));
            ASSERT_EQ(echoed(*peers.back(), "x"), "x");
        }
        for (auto& count : accepted) EXPECT_GT(count, 0) << "a listener that gets nothing";
    }
}

TEST(ExclusiveBindTest, AServerThatSharesItsPortIsNotJoinedByOneThatDoesNot) {
    const ReservedPort port;
    EventLoopGroup sharing(groupOptions(2));
    ServerBootstrap generous(sharing);
    generous.option(ChannelOption::REUSE_PORT, true).childHandler([](Channel&) {});
    const Server first = generous.bind(port.address()).sync().channel();
    Contender other(AcceptMode::perLoop);
    other.bindOnce(port.address());
    EXPECT_FALSE(other.giveUp());
    EXPECT_EQ(other.error(), fromErrno(EADDRINUSE));
}

// The option shares a port with other servers; the listeners of one server share theirs anyway.
TEST(ExclusiveBindTest, AListenerPerLoopWorksWithReusePortSwitchedOff) {
    EventLoopGroup group(groupOptions(3));
    ServerBootstrap bootstrap(group);
    bootstrap.option(ChannelOption::REUSE_PORT, false).acceptMode(AcceptMode::perLoop).childHandler([](Channel&) {});
    EXPECT_EQ(bootstrap.bind(anyPort).sync().channel().listeners().size(), 3u);
}

}  // namespace
}  // namespace weft::test
