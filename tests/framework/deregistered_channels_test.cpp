// Channels that were deregistered before the end of their loop, on each row of the table of ends.
#include <atomic>
#include <thread>
#include <vector>

#include "framework/ends_of_loops.hpp"

namespace weft::test {
namespace {

class DeregisteredChannels : public EndsOfLoops {};

// Notes the events of a channel's end.
struct Ends final : ChannelInboundHandler {
    struct Counts {
        std::atomic<int> inactive{0}, unregistered{0}, removed{0}, destroyed{0};
    };
    explicit Ends(Counts& its) : counts(its) {}
    ~Ends() override { ++counts.destroyed; }
    void channelInactive(ChannelHandlerContext&) override { ++counts.inactive; }
    void channelUnregistered(ChannelHandlerContext&) override { ++counts.unregistered; }
    void handlerRemoved(ChannelHandlerContext&) override { ++counts.removed; }
    Counts& counts;
};

// Connects a channel with an Ends.
ChannelRef connectNoting(EventLoopGroup& group, const SocketAddress& server, Ends::Counts& counts) {
    Bootstrap client(group);
    client.handler([&counts](Channel& channel) { channel.pipeline().addLast<Ends>(counts); });
    return client.connect(server).sync().channel();
}

void deregister(Channel& channel) {
    expectSuccess(channel.deregister(), "deregister()");
    ASSERT_TRUE(eventually([&] { return !channel.registered(); }));
}

TEST_P(DeregisteredChannels, ThatTheProgramKeepsAreClosed) {
    EventLoopGroup others(groupOptions(1));
    Server peers = serveEcho(others);
    ServerBootstrap bootstrap(*group_);
    bootstrap.childHandler([](Channel&) {});
    const Server server = bootstrap.bind(anyPort).sync().channel();
    Ends::Counts kept, again;
    const ChannelRef client = connectNoting(*group_, peers.localAddress(), kept);
    const ChannelRef returned = connectNoting(*group_, peers.localAddress(), again);
    const ChannelRef listener = server.listeners()[0];
    ASSERT_TRUE(eventually([&] { return peers.liveChildren() == 2; }));
    for (Channel* const channel : {client.get(), returned.get(), listener.get()}) deregister(*channel);
    expectSuccess(returned->registerWithLoop(), "registerWithLoop()");
    const ChannelFuture ended = client->closeFuture();
    const std::size_t carrier = client->loop().carrier()->index();
    const std::size_t acceptor = listener->loop().carrier()->index();
    end();
    ASSERT_TRUE(client->closed() && listener->closed());
    expectSuccess(ended, "closeFuture()");
    for (const Ends::Counts* const counts : {&kept, &again}) {
        EXPECT_EQ(counts->inactive, 1);
        EXPECT_EQ(counts->unregistered, counts == &kept ? 1 : 2);
        EXPECT_EQ(counts->removed, 1);
        EXPECT_EQ(counts->destroyed, 1);
    }
    byEachCaller(carrier, [&] { useChannel(*client); });
    byEachCaller(acceptor, [&] { useChannel(*listener); });
    byEachCaller(carrier, [&] { EXPECT_FALSE(client->registerWithLoop().success()); });
    EXPECT_TRUE(eventually([&] { return peers.liveChildren() == 0; })) << "a descriptor is open";
}

TEST_P(DeregisteredChannels, ThatTheProgramDropsAreNotKeptByTheirLoop) {
    ServerBootstrap bootstrap(*group_);
    bootstrap.childHandler([](Channel&) {});
    const Server server = bootstrap.bind(anyPort).sync().channel();
    Ends::Counts counts;
    ChannelRef client = connectNoting(*group_, server.localAddress(), counts);
    deregister(*client);
    client = {};
    EXPECT_TRUE(eventually([&] { return counts.destroyed == 1; }));
    end();
    EXPECT_EQ(counts.removed, 0) << "by the end of the loop";
}

// Under the sanitizers.
TEST_P(DeregisteredChannels, MayLoseTheirLastReferenceWhileTheirLoopEnds) {
    constexpr int channels = 40;
    ServerBootstrap bootstrap(*group_);
    bootstrap.childHandler([](Channel&) {});
    const Server server = bootstrap.bind(anyPort).sync().channel();
    Ends::Counts counts;
    std::vector<ChannelRef> kept;
    for (int i = 0; i < channels; ++i) {
        kept.push_back(connectNoting(*group_, server.localAddress(), counts));
        deregister(*kept.back());
    }
    std::thread releases([&] { kept.clear(); });
    end();
    releases.join();
    EXPECT_TRUE(eventually([&] { return counts.destroyed == channels; }));
}

INSTANTIATE_TEST_SUITE_P(Table, DeregisteredChannels, testing::ValuesIn(rows()), nameOf);

}  // namespace
}  // namespace weft::test
