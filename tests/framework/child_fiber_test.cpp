// ServerBootstrap::childFiber(): a fiber for each connection, which the server counts as it does those of handlers.
#include <weft/framework/server_bootstrap.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/child_fiber_bench.hpp"

namespace weft::test {
namespace {

TEST_P(ChildFiberTest, RunsForEachConnectionOnTheCarrierThatAcceptedIt) {
    std::mutex lock;
    std::set<Carrier*> homes;
    Server server = serve(group(2), [&](TcpStream stream) {
        EXPECT_EQ(stream.carrier(), Carrier::current());
        {
            const std::lock_guard held(lock);
            homes.insert(stream.carrier());
        }
        echo(std::move(stream));
    });
    std::vector<std::unique_ptr<BlockingPeer>> peers;
    for (int i = 0; i < 16; ++i) {
        peers.push_back(std::make_unique<BlockingPeer>(server.localAddress()));
        EXPECT_EQ(echoed(*peers.back(), "hello"), "hello");
    }
    EXPECT_EQ(server.liveChildren(), 16u);
    peers.clear();
    EXPECT_TRUE(isEmptied(server));
    const std::lock_guard held(lock);
    for (Carrier* home : homes) EXPECT_EQ(&home->group(), &group_->carriers());
}

TEST_P(ChildFiberTest, WorkerLoopsGetTheConnectionsOfAnotherGroupsListener) {
    EventLoopGroupOptions options = groupOptions(1);
    options.transport = GetParam();
    EventLoopGroup acceptors(options);
    EventLoopGroup& workers = group(2);
    ServerBootstrap bootstrap(acceptors, workers);
    bootstrap.childFiber([&](TcpStream stream) {
        EXPECT_EQ(&stream.carrier()->group(), &workers.carriers());
        echo(std::move(stream));
    });
    Server server = bootstrap.bind(anyPort).sync().channel();
    for (int i = 0; i < 4; ++i) {
        BlockingPeer peer(server.localAddress());
        EXPECT_EQ(echoed(peer, "hello"), "hello");
    }
    EXPECT_TRUE(isEmptied(server));
}

TEST_P(ChildFiberTest, AnExceptionEndsItsConnectionAndIsLoggedAtDebug) {
    LogCapture log;
    Server server = serve(group(),
                          [](TcpStream stream) {
                              stream.read(1);
                              throw std::runtime_error("no such room");
                          },
                          {.name = "room"});
    BlockingPeer peer(server.localAddress());
    peer.send("x");
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(isEmptied(server));
    EXPECT_GT(log.countAt(LogLevel::debug, "fiber 'room' of channel"), 0) << log.text();
    EXPECT_GT(log.countAt(LogLevel::debug, "no such room"), 0) << log.text();
}

// Its fiber begins when the loop has drained the others.
TEST_P(ChildFiberTest, AConnectionIsTheServersUntilItsStreamHasGone) {
    TcpStream kept;
    Promise<void> given;
    Server server = serve(group(), [&](TcpStream stream) {
        kept = std::move(stream);
        given.setValue();
    });
    BlockingPeer peer(server.localAddress());
    given.future().get();
    group_->carriers()
        .carrier(0)
        .spawn([&] {
            EXPECT_EQ(server.liveChildren(), 1u);
            kept.write("still here");
            kept = TcpStream();
        })
        .join();
    EXPECT_EQ(peer.receiveExactly(10), "still here");
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(isEmptied(server));
}

TEST_P(ChildFiberTest, AConnectionIsTheServersUntilItsFiberHasReturned) {
    Promise<void> closed, open;
    Server server = serve(group(), [&](TcpStream stream) {
        stream.close();
        closed.setValue();
        open.future().await();
    });
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(peer.receive(), "");
    closed.future().get();
    EXPECT_EQ(server.liveChildren(), 1u);
    open.setValue();
    EXPECT_TRUE(isEmptied(server));
}

// On carriers that go on, and in a wait that the poller does not know.
// The peer's last bytes, and its end, are read after the answer.
TEST_P(ChildFiberTest, OptionsOfTheSocketAreSetBeforeTheFiberBegins) {
    Promise<int> keepAlive;
    ServerBootstrap bootstrap(group());
    bootstrap.childOption(ChannelOption::KEEP_ALIVE, true).childFiber([&](TcpStream stream) {
        int value = 0;
        EXPECT_FALSE(stream.getOption(SocketOption::keepAlive, value));
        keepAlive.setValue(value);
    });
    Server server = bootstrap.bind(anyPort).sync().channel();
    BlockingPeer peer(server.localAddress());
    EXPECT_NE(keepAlive.future().get(), 0);
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(isEmptied(server));
}

TEST_P(ChildFiberTest, TheLaterOfChildFiberAndChildHandlerCounts) {
    std::atomic<int> fibers{0};
    ServerBootstrap bootstrap(group());
    bootstrap.childFiber([&](TcpStream) { ++fibers; }).childHandler([](Channel& channel) {
        channel.pipeline().addLast<Echo>();
    });
    Server handlers = bootstrap.bind(anyPort).sync().channel();
    BlockingPeer first(handlers.localAddress());
    EXPECT_EQ(echoed(first, "1"), "1");
    EXPECT_EQ(fibers, 0);
    Server server = bootstrap.childFiber(echo).bind(anyPort).sync().channel();
    BlockingPeer second(server.localAddress());
    EXPECT_EQ(echoed(second, "2"), "2");
}

// A listener's handler, which sees connections before the server has them.
class Visitor final : public SimpleInboundHandler<ChannelRef> {
  public:
    using Visit = void (*)(Channel&);
    explicit Visitor(Visit visit) : visit_(visit) {}

  protected:
    void channelRead0(ChannelHandlerContext& ctx, ChannelRef child) override {
        visit_(*child);
        ctx.fireChannelRead(Message::of<ChannelRef>(std::move(child)));
    }

  private:
    const Visit visit_;
};

TEST_P(ChildFiberTest, ItsChannelSendsNothing) {
    std::atomic<int> fibers{0};
    ServerBootstrap bootstrap(group());
    bootstrap.handler([](Channel& listener) {
        listener.pipeline().addLast<Visitor>([](Channel& child) {
            child.pipeline().addLast([](Channel& channel) {
                channel.loop().execute([ref = ChannelRef(channel)] { ref->writeAndFlush(Buffer::copyOf("bytes")); });
            });
        });
    });
    bootstrap.childFiber([&](TcpStream stream) {
        ++fibers;
        ErrorCode error;
        stream.read(1, error);
        EXPECT_EQ(error, operationAborted());
    });
    Server server = bootstrap.bind(anyPort).sync().channel();
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(peer.receive(), "");  // the write has failed, which closes the connection
    EXPECT_TRUE(isEmptied(server));
    EXPECT_EQ(fibers, 1);
}

TEST_P(ChildFiberTest, AConnectionWithoutAFiberIsClosed) {
    LogCapture log;
    Server server = serve(group(), echo, {.stackSize = ~std::size_t{0} / 2});
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(isEmptied(server));
    EXPECT_TRUE(log.await("there is no fiber for it"));
}

TEST_P(ChildFiberTest, ManyConnectionsComeAndGo) {
    std::atomic<int> served{0};
    Server server = serve(group(2), [&](TcpStream stream) {
        echo(std::move(stream));
        ++served;
    });
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
        clients.emplace_back([&] {
            for (int round = 0; round < 100; ++round) {
                BlockingPeer peer(server.localAddress());
                EXPECT_EQ(echoed(peer, "hello"), "hello");
            }
        });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_TRUE(isEmptied(server));
    EXPECT_EQ(served, 400);
}

INSTANTIATE_TEST_SUITE_P(EachTransport, ChildFiberTest, ::testing::ValuesIn(transports()), nameOfTransport);

}  // namespace
}  // namespace weft::test
