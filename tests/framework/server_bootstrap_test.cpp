#include <weft/framework/server_bootstrap.hpp>

#include <mutex>
#include <semaphore>
#include <set>
#include <vector>

#include <weft/framework/bootstrap.hpp>

#include "framework/bench.hpp"
#include "framework/reserved_port.hpp"
#include "transports/full_listener.hpp"

namespace weft::test {
namespace {

std::size_t countOfListeners(EventLoopGroup& group, AcceptMode mode) {
    return serveEcho(group, mode).listeners().size();
}

TEST(ServerBootstrapTest, PortZeroGivesAllListenersOnePort) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(3));
    Server server = serveEcho(group);
    ASSERT_EQ(server.listeners().size(), 3u);
    EXPECT_NE(server.localAddress().port(), 0);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(&server.listeners()[i]->loop(), &group.loop(i));
    for (int i = 0; i < 16; ++i) {
        BlockingPeer peer(server.localAddress());
        EXPECT_EQ(echoed(peer, "hello"), "hello");
    }
}

TEST(ServerBootstrapTest, TheAcceptModeDecidesHowManyListenersThereAre) {
    EventLoopGroup one(groupOptions(1));
    EventLoopGroup two(groupOptions(2));
    EXPECT_EQ(countOfListeners(one, AcceptMode::automatic), 1u);
    EXPECT_EQ(countOfListeners(two, AcceptMode::automatic), 2u);
    EXPECT_EQ(countOfListeners(two, AcceptMode::single), 1u);
    EXPECT_EQ(countOfListeners(one, AcceptMode::perLoop), 1u);
}

TEST(ServerBootstrapTest, B1_OneAcceptorSpreadsConnectionsOverTheWorkers) {
    DescriptorGuard descriptors;
    EventLoopGroup boss(groupOptions(1));
    EventLoopGroup workers(groupOptions(2));
    std::mutex lock;
    std::multiset<EventLoop*> homes;
    ServerBootstrap bootstrap(boss, workers);
    bootstrap.childHandler([&](Channel& channel) {
        EXPECT_TRUE(channel.loop().inEventLoop());
        std::lock_guard held(lock);
        homes.insert(&channel.loop());
        channel.pipeline().addLast<Echo>();
    });
    Server server = bootstrap.bind("127.0.0.1", 0).sync().channel();
    for (int i = 0; i < 6; ++i) {
        BlockingPeer peer(server.localAddress());
        EXPECT_EQ(echoed(peer, "hello"), "hello");
    }
    std::lock_guard held(lock);
    EXPECT_EQ(homes.size(), 6u);  // in turn, unless one is busier: accept_placement_test.cpp
    EXPECT_GE(homes.count(&workers.loop(0)), 1u);
    EXPECT_GE(homes.count(&workers.loop(1)), 1u);
}

TEST(ServerBootstrapTest, TheListenersCloseWithTheLoopsOfTheirConnections) {
    EventLoopGroup acceptors(groupOptions(1));
    for (const bool graceful : {false, true}) {
        EventLoopGroup workers(groupOptions(1));
        ServerBootstrap bootstrap(acceptors, workers);
        bootstrap.childHandler([](Channel&) {});
        const Server server = bootstrap.bind(anyPort).sync().channel();
        if (graceful) {
            workers.shutdownGracefully(0ms, 1h);
            EXPECT_TRUE(server.listeners()[0]->closeFuture().awaitUntil(testDeadline()));
        } else {
            EXPECT_TRUE(workers.shutdown(20s));
            EXPECT_TRUE(server.listeners()[0]->closed()) << "it would go on using the workers' loops";
        }
    }
}

TEST(ServerBootstrapTest, ADeregisteredChildOfAServerThatIsNeverClosedIsReleasedWithTheServer) {
    struct Leaves final : ChannelInboundHandler {
        explicit Leaves(std::shared_ptr<Promise<void>> left) : left(std::move(left)) {}
        void channelActive(ChannelHandlerContext& ctx) override { ctx.deregister(); }
        void channelUnregistered(ChannelHandlerContext&) override { left->setValue(); }
        const std::shared_ptr<Promise<void>> left;
    };
    DescriptorGuard descriptors;
    const auto left = std::make_shared<Promise<void>>();
    const Future<void> deregistered = left->future();
    {
        EventLoopGroup group(groupOptions(1));
        ServerBootstrap bootstrap(group);
        bootstrap.childHandler([left](Channel& channel) { channel.pipeline().addLast<Leaves>(left); });
        const Server server = bootstrap.bind(anyPort).sync().channel();
        const BlockingPeer peer(server.localAddress());
        ASSERT_TRUE(deregistered.awaitUntil(testDeadline()));
    }
}

TEST(ServerBootstrapTest, B2_ATakenPortIsRefusedWithItsAddressInEveryMode) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(2));
    Server taken = serveEcho(group);
    for (AcceptMode mode : {AcceptMode::perLoop, AcceptMode::single}) {
        ServerBootstrap bootstrap(group);
        bootstrap.acceptMode(mode).childHandler([](Channel&) {});
        const BindFuture future = bootstrap.bind(taken.localAddress());
        try {
            future.sync();
            FAIL() << "no exception";
        } catch (const SystemError& error) {
            EXPECT_EQ(error.code(), fromErrno(EADDRINUSE));
            EXPECT_NE(std::string(error.what()).find(taken.localAddress().toString()), std::string::npos)
                << error.what();
        }
        EXPECT_TRUE(future.done());
        EXPECT_TRUE(future.cause());
    }
}

TEST(ServerBootstrapTest, APortIsSharedWhenTheProgramSaysSo) {
    EventLoopGroup group(groupOptions(2));
    ServerBootstrap bootstrap(group);
    bootstrap.option(ChannelOption::REUSE_PORT, true).childHandler([](Channel& channel) {
        channel.pipeline().addLast<Echo>();
    });
    Server first = bootstrap.bind(anyPort).sync().channel();
    Server second = bootstrap.bind(first.localAddress()).sync().channel();
    EXPECT_EQ(second.localAddress(), first.localAddress());
}

struct Watch final : ChannelInboundHandler {
    static constexpr bool sharable = true;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        ++accepted;
        ctx.fireChannelRead(std::move(message));
    }
    std::atomic<int> accepted{0};
};

// B-1: handlers first, then options, then registration; the acceptor goes after the handlers that the user adds.
TEST(ServerBootstrapTest, B1_HandlersAndOptionsAreInPlaceBeforeAChildIsRegistered) {
    EventLoopGroup group(groupOptions(1));
    const auto watch = std::make_shared<Watch>();
    Promise<std::size_t> seen;
    ServerBootstrap bootstrap(group);
    bootstrap.handler(watch)
        .childOption(ChannelOption::MAX_MESSAGES_PER_READ, 7)
        .childOption(ChannelOption::NO_DELAY, false)
        .childHandler([&](Channel& channel) {
            EXPECT_FALSE(channel.option(ChannelOption::NO_DELAY));
            seen.setValue(channel.option(ChannelOption::MAX_MESSAGES_PER_READ));
            channel.pipeline().addLast<Echo>();
        });
    Server server = bootstrap.bind(anyPort).sync().channel();
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(echoed(peer, "x"), "x");
    EXPECT_EQ(seen.future().get(), 7u);
    EXPECT_EQ(watch->accepted, 1);
}

TEST(ServerBootstrapTest, B1_TheAcceptorIsInPlaceBeforeTheListenerIsBound) {
    struct SeesBind final : ChannelOutboundHandler {
        explicit SeesBind(Promise<std::vector<std::string>>& seen) : seen_(seen) {}
        void bind(ChannelHandlerContext& ctx, const SocketAddress& local, ChannelPromise promise) override {
            seen_.setValue(ctx.channel().pipeline().names());
            ctx.bind(local, std::move(promise));
        }
        Promise<std::vector<std::string>>& seen_;
    };
    Promise<std::vector<std::string>> seen;
    std::binary_semaphore mayRegister{0};  // holds the registration back until bind() has returned
    EventLoopGroup group(groupOptions(1));
    ServerBootstrap bootstrap(group);
    bootstrap.handler([&](Channel& listener) { listener.pipeline().addLast<SeesBind>(seen); });
    bootstrap.childHandler([](Channel& channel) { channel.pipeline().addLast<Echo>(); });
    group.next().execute([&mayRegister] { mayRegister.acquire(); });
    const BindFuture bound = bootstrap.bind(anyPort);
    mayRegister.release();
    bound.sync();
    const auto names = seen.future().get();
    ASSERT_EQ(names.size(), 2u);
    EXPECT_NE(names.back().find("ServerAcceptor"), std::string::npos) << names.back();
}

TEST(ServerBootstrapTest, B1_AChildHandlerThatThrowsClosesItsConnectionOnly) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(1));
    std::atomic<int> calls{0};
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([&](Channel& channel) {
        if (calls++ == 0) throw std::runtime_error("on purpose");
        channel.pipeline().addLast<Echo>();
    });
    Server server = bootstrap.bind(anyPort).sync().channel();
    BlockingPeer refused(server.localAddress());
    EXPECT_EQ(refused.receive(), "");
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(echoed(peer, "x"), "x");
}

TEST(ServerBootstrapTest, B2_ABindAfterTheEndOfItsLoopFails) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(2));
    EXPECT_TRUE(group.shutdown(20s));
    for (const AcceptMode mode : {AcceptMode::single, AcceptMode::perLoop}) {
        ServerBootstrap bootstrap(group);
        bootstrap.acceptMode(mode).childHandler([](Channel&) {});
        const BindFuture bound = bootstrap.bind(anyPort);
        ASSERT_TRUE(bound.done());
        EXPECT_EQ(errorCodeOf(bound.cause()), operationAborted());
    }
}

TEST(ServerBootstrapTest, WithoutAChildHandlerNothingIsBound) {
    EventLoopGroup group(groupOptions(1));
    EXPECT_THROW(ServerBootstrap(group).bind(anyPort), std::logic_error);
    EXPECT_THROW(ServerBootstrap(group).childHandler([](Channel&) {}).bind("not an address", 0), std::invalid_argument);
}

TEST(ServerTest, CloseStopsAcceptingAndLeavesConnectionsAlone) {
    EventLoopGroup group(groupOptions(2));
    Server server = serveEcho(group);
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(echoed(peer, "before"), "before");
    server.close().get();
    for (const auto& listener : server.listeners()) EXPECT_TRUE(listener->closed());
    EXPECT_EQ(server.liveChildren(), 1u);
    EXPECT_EQ(echoed(peer, "after"), "after");
    server.close().get();
}

TEST(ServerTest, CountsLiveConnections) {
    EventLoopGroup group(groupOptions(2));
    Server server = serveEcho(group);
    {
        BlockingPeer first(server.localAddress());
        BlockingPeer second(server.localAddress());
        EXPECT_EQ(echoed(first, "1"), "1");
        EXPECT_EQ(echoed(second, "2"), "2");
        EXPECT_EQ(server.liveChildren(), 2u);
    }
    EXPECT_TRUE(eventually([&] { return server.liveChildren() == 0; }));
}

// ---- client side ----

TEST(BootstrapTest, ConnectsAndRunsItsPipelineOnALoopOfTheGroup) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(2));
    Server server = serveEcho(group);
    struct Client final : SimpleInboundHandler<Buffer> {
        explicit Client(Promise<std::string>& answer) : answer_(answer) {}
        void channelActive(ChannelHandlerContext& ctx) override { ctx.writeAndFlush(Buffer::copyOf("ping")); }
        void channelRead0(ChannelHandlerContext&, Buffer bytes) override {
            answer_.setValue(std::string(bytes.view()));
        }
        Promise<std::string>& answer_;
    };
    Promise<std::string> answer;
    Bootstrap bootstrap(group);
    bootstrap.handler([&](Channel& channel) { channel.pipeline().addLast<Client>(answer); });
    const ChannelFuture connected = bootstrap.connect(server.localAddress());
    connected.sync();
    EXPECT_EQ(answer.future().get(), "ping");
    EXPECT_TRUE(connected.channel()->active());
    connected.channel()->close().sync();
}

TEST(BootstrapTest, B2_ARefusedConnectFailsWithTheAddressAndClosesTheChannel) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(1));
    const ReservedPort port;  // nothing listens on it
    const SocketAddress address = port.address();
    const ChannelFuture connected = Bootstrap(group).connect(address);
    connected.await();
    EXPECT_EQ(connected.error(), fromErrno(ECONNREFUSED));
    EXPECT_NE(describe(connected.cause()).find(address.toString()), std::string::npos);
    connected.channel()->closeFuture().await();
}

TEST(BootstrapTest, B2_AConnectAfterTheEndOfItsLoopFails) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(1));
    EXPECT_TRUE(group.shutdown(20s));
    for (const unsigned retries : {0u, 2u}) {
        const ChannelFuture connected = Bootstrap(group).retry(retries).connect(SocketAddress::loopbackV4(9));
        ASSERT_TRUE(connected.done());
        EXPECT_EQ(connected.error(), operationAborted());
    }
}

TEST(BootstrapTest, AFiberMayWaitForItsOwnCarriersConnection) {
    EventLoopGroup group(groupOptions(2));
    Server server = serveEcho(group);
    EXPECT_TRUE(group.carriers()
                    .carrier(1)
                    .spawn([&] {
                        const ChannelFuture connected = Bootstrap(group).connect(server.localAddress()).sync();
                        const bool home = &connected.channel()->loop() == &group.loop(1);
                        connected.channel()->close().sync();
                        return home;
                    })
                    .join());
}

TEST(BootstrapTest, B3_AnAddressThatNoSocketServesFailsTheFuture) {
    DescriptorGuard descriptors;
    EventLoopGroup group(groupOptions(1));
    const ChannelFuture connected = Bootstrap(group).connect(SocketAddress());
    connected.await();
    EXPECT_TRUE(connected.cause());
    EXPECT_FALSE(connected.channel());
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([](Channel&) {});
    EXPECT_THROW(bootstrap.bind(SocketAddress()).sync(), SystemError);
}

TEST(BootstrapTest, AnAttemptEndsAtItsConnectTimeout) {
    const FullListener full;
    EventLoopGroup group(groupOptions(1));
    const ChannelFuture attempt = Bootstrap(group).connectTimeout(30ms).connect(full.address());
    attempt.await();
    EXPECT_EQ(attempt.error(), timedOut());
}

}  // namespace
}  // namespace weft::test
