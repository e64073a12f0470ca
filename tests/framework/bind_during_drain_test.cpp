// A drain also ends binds in progress: none of them leaves a server that the drain has missed.
#include <weft/framework/server_bootstrap.hpp>

#include <optional>
#include <semaphore>
#include <string>
#include <thread>

#include <weft/pipeline/channel_events.hpp>

#include "framework/bench.hpp"
#include "framework/reserved_port.hpp"

namespace weft::test {
namespace {

class ObedientEcho final : public Echo {
  public:
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        if (event.is<DrainStarted>()) ctx.close();
    }
};

// A bind with a listener per loop that stops between its first and its second listener until the test releases it.
struct HaltedBind {
    explicit HaltedBind(EventLoopGroup& group, const SocketAddress& address) : loop(group.loop(1)) {
        Promise<void> ended;
        halt = ended.future();
        loop.execute([this, ended = std::move(ended)]() mutable {
            mayGoOn.acquire();
            ended.setValue();
        });
        ServerBootstrap bootstrap(group);
        bootstrap.acceptMode(AcceptMode::perLoop).childHandler([](Channel& channel) {
            channel.pipeline().addLast<ObedientEcho>();
        });
        bound.emplace(bootstrap.bind(address));
    }
    ~HaltedBind() {
        mayGoOn.release();
        halt.await();  // it still uses the semaphore
        if (bound) bound->await();
    }

    EventLoop& loop;
    std::counting_semaphore<> mayGoOn{0};
    Future<void> halt;
    std::optional<BindFuture> bound;
};

ErrorCode outcomeOf(const BindFuture& bound) {
    bound.await();
    return bound.cause() ? errorCodeOf(bound.cause()) : ErrorCode();
}

TEST(BindDuringDrainTest, ABindThatIsUnderWayFailsAndLeavesThePort) {
    DescriptorGuard descriptors;
    const ReservedPort port;
    EventLoopGroup group(groupOptions(2));
    HaltedBind halted(group, port.address());
    ASSERT_TRUE(eventually([&] { return port.isServed(); }));  // by its first listener
    group.drain(0s);
    halted.mayGoOn.release();
    EXPECT_EQ(outcomeOf(*halted.bound), operationAborted());
    EXPECT_TRUE(eventually([&] { return !port.isServed(); }));
    try {
        halted.bound->sync();
        ADD_FAILURE() << "no exception";
    } catch (const SystemError& error) {
        EXPECT_NE(std::string(error.what()).find(port.address().toString()), std::string::npos) << error.what();
    }
}

TEST(BindDuringDrainTest, ADrainWaitsForABindThatIsUnderWay) {
    DescriptorGuard descriptors;
    const ReservedPort port;
    EventLoopGroup group(groupOptions(2));
    HaltedBind halted(group, port.address());
    ASSERT_TRUE(eventually([&] { return port.isServed(); }));
    BlockingPeer peer(port.address());
    ASSERT_EQ(echoed(peer, "x"), "x");
    std::thread drainer([&] {
        group.drain(20s);
        EXPECT_TRUE(halted.bound->done());
        EXPECT_FALSE(port.isServed());
    });
    EXPECT_EQ(peer.receive(), "");  // the drain has begun and closed this connection
    halted.mayGoOn.release();
    drainer.join();
    EXPECT_EQ(outcomeOf(*halted.bound), operationAborted());
}

TEST(BindDuringDrainTest, ABindAfterADrainIsAServerLikeAnyOther) {
    EventLoopGroup group(groupOptions(2));
    group.drain(0s);
    Server server = serveEcho(group);
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(echoed(peer, "x"), "x");
    EXPECT_EQ(server.drain(0s), 1u);
}

}  // namespace
}  // namespace weft::test
