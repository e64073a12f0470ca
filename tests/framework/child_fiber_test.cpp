// ServerBootstrap::childFiber(): a fiber for each connection, which the server counts, drains and closes as it does
// those of handlers.
#include <weft/framework/server_bootstrap.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/bench.hpp"
#include "support/log_capture.hpp"

namespace weft::test {
namespace {

void echo(TcpStream stream) {
    for (Buffer bytes = stream.read(4096); !bytes.empty(); bytes = stream.read(4096)) stream.write(bytes.view());
}

class ChildFiberTest : public ::testing::TestWithParam<Transport::Kind> {
  protected:
    EventLoopGroup& group(unsigned carriers = 1) {
        EventLoopGroupOptions options = groupOptions(carriers);
        options.transport = GetParam();
        return group_.emplace(options);
    }
    template <class F>
    Server serve(EventLoopGroup& group, F fn, const SpawnOptions& options = {}) {
        ServerBootstrap bootstrap(group);
        return bootstrap.childFiber(std::move(fn), options).bind(anyPort).sync().channel();
    }
    static bool isEmptied(const Server& server) {
        return eventually([&] { return server.liveChildren() == 0; });
    }

    DescriptorGuard descriptors_;
    std::optional<EventLoopGroup> group_;
};

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
    Server server = serve(
        group(),
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

TEST_P(ChildFiberTest, ADrainEndsReadsThatWaitAndLetsOtherWorkFinish) {
    Promise<void> asked, open;
    Server server = serve(group(), [&](TcpStream stream) {
        for (Buffer bytes = stream.read(4096); !bytes.empty(); bytes = stream.read(4096)) {
            if (bytes.view() == "wait") {
                asked.setValue();
                open.future().await();
            }
            stream.write(bytes.view());
        }
    });
    BlockingPeer idle(server.localAddress());
    EXPECT_EQ(echoed(idle, "1"), "1");
    BlockingPeer busy(server.localAddress());
    busy.send("wait");
    asked.future().get();
    std::thread drainer([&] { EXPECT_EQ(server.drain(20s), 0u); });
    EXPECT_EQ(idle.receive(), "");  // the drain has begun
    open.setValue();
    EXPECT_EQ(busy.receiveExactly(4), "wait");
    EXPECT_EQ(busy.receive(), "");
    drainer.join();
    EXPECT_EQ(server.liveChildren(), 0u);
}

TEST_P(ChildFiberTest, AReadInADrainGetsWhatHasArrivedAndThenTheAbort) {
    Promise<void> begun, drained;
    std::string seen;
    ErrorCode first, second;
    Server server = serve(group(), [&](TcpStream stream) {
        if (begun.future().done()) return echo(std::move(stream));
        begun.setValue();
        drained.future().await();
        seen = stream.read(4096, first).view();
        stream.read(4096, second);
    });
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    BlockingPeer idle(server.localAddress());
    EXPECT_EQ(echoed(idle, "1"), "1");
    peer.send("before");
    std::thread drainer([&] { EXPECT_EQ(server.drain(20s), 0u); });
    EXPECT_EQ(idle.receive(), "");  // the drain has reached both
    drained.setValue();
    drainer.join();
    EXPECT_EQ(seen, "before");
    EXPECT_FALSE(first);
    EXPECT_EQ(second, operationAborted());
}

TEST_P(ChildFiberTest, AtTheTimeLimitOfADrainTheFiberIsCancelledAndNamed) {
    LogCapture log;
    Promise<void> begun;
    std::atomic<bool> cancelled{false};
    Server server = serve(
        group(),
        [&](TcpStream) {
            begun.setValue();
            ErrorCode error;
            thisFiber::sleepFor(std::chrono::hours(1), error);
            cancelled = error == operationAborted();
        },
        {.name = "sleeper"});
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    EXPECT_EQ(server.drain(1ms), 1u);
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(isEmptied(server));
    EXPECT_TRUE(cancelled);
    EXPECT_GT(log.countAt(LogLevel::warning, "fiber 'sleeper'"), 0) << log.text();
}

TEST_P(ChildFiberTest, AConnectionIsTheServersUntilItsStreamHasGone) {
    TcpStream kept;
    Promise<void> given;
    Server server = serve(group(), [&](TcpStream stream) {
        kept = std::move(stream);
        given.setValue();
    });
    BlockingPeer peer(server.localAddress());
    given.future().get();
    group_->carriers().carrier(0).spawn([&] {
        EXPECT_EQ(server.liveChildren(), 1u);
        kept.write("still here");
        kept = TcpStream();
    }).join();
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

TEST_P(ChildFiberTest, TheEndOfTheGroupEndsItsCalls) {
    Promise<void> begun;
    std::atomic<bool> aborted{false};
    Server server = serve(group(), [&](TcpStream stream) {
        begun.setValue();
        ErrorCode error;
        stream.read(1, error);
        aborted = error == operationAborted();
    });
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    group_.reset();
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(aborted);
}

// On carriers that go on, and in a wait that the poller does not know.
TEST_P(ChildFiberTest, TheEndOfAGroupOnBorrowedCarriersEndsEachWait) {
    CarrierGroup carriers(groupOptions(1));
    std::optional<EventLoopGroup> borrowing(std::in_place, carriers, GetParam());
    Promise<void> begun, ended;
    ErrorCode error;
    Server server = serve(*borrowing, [&](TcpStream) {
        begun.setValue();
        thisFiber::sleepFor(std::chrono::hours(1), error);
        ended.setValue();
    });
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    EXPECT_TRUE(borrowing->shutdown(20s));
    EXPECT_EQ(peer.receive(), "");
    ended.future().get();
    EXPECT_EQ(error, operationAborted());
    EXPECT_TRUE(isEmptied(server));
}

TEST_P(ChildFiberTest, AnEndThatThePeerHasMadeIsNoAbort) {
    Promise<void> begun, drained;
    std::string seen;
    ErrorCode error;
    Server server = serve(group(), [&](TcpStream stream) {
        if (begun.future().done()) return echo(std::move(stream));
        begun.setValue();
        drained.future().await();
        for (Buffer bytes = stream.read(4096, error); !bytes.empty(); bytes = stream.read(4096, error))
            seen += bytes.view();
    });
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    BlockingPeer idle(server.localAddress());
    EXPECT_EQ(echoed(idle, "1"), "1");
    peer.send("all of it");
    peer.endOutput();
    std::thread drainer([&] { EXPECT_EQ(server.drain(20s), 0u); });
    EXPECT_EQ(idle.receive(), "");
    drained.setValue();
    drainer.join();
    EXPECT_EQ(seen, "all of it");
    EXPECT_FALSE(error) << error.message();
}

// The peer's last bytes, and its end, are read after the answer.
TEST_P(ChildFiberTest, AStreamMayLingerInADrain) {
    Promise<void> begun, drained;
    ErrorCode error;
    Server server = serve(group(), [&](TcpStream stream) {
        begun.setValue();
        drained.future().await();
        stream.write("bye");
        stream.shutdownOutput();
        stream.read(4096, error);
    });
    BlockingPeer peer(server.localAddress());
    begun.future().get();
    std::thread drainer([&] { EXPECT_EQ(server.drain(20s), 0u); });
    server.listeners()[0]->closeFuture().await();
    peer.send("more");
    drained.setValue();
    EXPECT_EQ(peer.receiveExactly(3), "bye");
    EXPECT_EQ(peer.receive(), "");
    drainer.join();
    EXPECT_FALSE(error) << error.message();
}

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
    EXPECT_GT(log.countAt(LogLevel::warning, "there is no fiber for it"), 0) << log.text();
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

std::vector<Transport::Kind> transports() {
    if (Transport::best() == Transport::Kind::ioUring) return {Transport::Kind::epoll, Transport::Kind::ioUring};
    return {Transport::Kind::epoll};
}

std::string nameOfTransport(const ::testing::TestParamInfo<Transport::Kind>& each) {
    return each.param == Transport::Kind::epoll ? "Epoll" : "Uring";
}

INSTANTIATE_TEST_SUITE_P(EachTransport, ChildFiberTest, ::testing::ValuesIn(transports()), nameOfTransport);

}  // namespace
}  // namespace weft::test
