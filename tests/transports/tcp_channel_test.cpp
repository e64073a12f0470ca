// Channels over real loopback sockets, on the transport that WEFT_TRANSPORT names, or the best one.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/transports/tcp_socket.hpp>
#include <weft/transports/tcp_stream.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/counting_system_calls.hpp"
#include "transports/loopback_server.hpp"
#include "transports/socket_loops.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

ChannelRef makeClient(SocketLoops& host, Initializer initializer) {
    SocketIoHandler& handler = host.poller();
    ChannelRef channel = Channel::create(host.loop());
    channel->attach(handler.connector(openTcpSocket(AF_INET, handler.systemCalls()), *channel));
    channel->pipeline().addLast([initializer](Channel& made) { initializer(made); });
    channel->registerWithLoop().sync();
    return channel;
}

TEST(TcpChannel, EchoesAThousandRoundTrips) {
    const DescriptorGuard guard;
    SocketLoops host;
    Server server(host, echo);
    BlockingPeer peer(server.address);
    for (int i = 0; i < 1000; ++i) {
        const std::string message = "message " + std::to_string(i);
        peer.send(message);
        ASSERT_EQ(peer.receiveExactly(message.size()), message);
    }
}

TEST(TcpChannel, S4_AClientBindsAndThenConnectsFromThatAddress) {
    const DescriptorGuard guard;
    SocketLoops host;
    Server server(host, echo);
    const ChannelRef client = makeClient(host, [](Channel&) {});
    client->bind(SocketAddress::loopbackV4(0)).sync();
    EXPECT_FALSE(client->active());
    SocketAddress bound;
    host.inFiber([&] { bound = client->localAddress(); });
    EXPECT_NE(bound.port(), 0);
    client->connect(server.address).sync();
    EXPECT_TRUE(client->active());
    host.inFiber([&] {
        EXPECT_EQ(client->localAddress(), bound);
        EXPECT_EQ(client->remoteAddress(), server.address);
    });
    EXPECT_THROW(client->bind(SocketAddress::loopbackV4(0)).sync(), SystemError)
        << "a connected socket has its address";
    EXPECT_TRUE(client->active());
    client->close().sync();
}

TEST(TcpChannel, OneRoundTripIsOneReadAndOneWrite) {
    CountingSystemCalls calls;
    SocketLoops host(1, calls);
    Server server(host, echo);
    BlockingPeer peer(server.address);
    peer.send("warm");
    peer.receiveExactly(4);
    const int recvs = calls.recvs, sends = calls.sends, controls = calls.epollCtls, waits = calls.waits;
    for (int i = 0; i < 100; ++i) {
        peer.send("ping");
        peer.receiveExactly(4);
    }
    EXPECT_EQ(calls.recvs - recvs, 100);
    EXPECT_EQ(calls.sends - sends, 100);
    EXPECT_EQ(calls.epollCtls - controls, 0);
    EXPECT_LE(calls.waits - waits, 202) << "one wait that brings the event, at most one look after it";
}

TEST(TcpChannel, ServesAHundredFiberClientsOfItsOwnCarrier) {
    const DescriptorGuard guard;
    SocketLoops host;
    Server server(host, echo);
    host.inFiber([&] {
        auto talk = [&] {
            TcpStream stream = TcpStream::connect(server.address, testDeadline());
            for (int i = 0; i < 10; ++i) {
                std::string answer(5, '?');
                stream.write(std::string_view("hello"));
                stream.readExactly(answer);
                if (answer != "hello") return false;
            }
            return true;
        };
        std::vector<JoinHandle<bool>> clients;
        for (int i = 0; i < 100; ++i) clients.push_back(host.carrier().spawn(talk));
        for (auto& client : clients) EXPECT_TRUE(client.join());
    });
}

TEST(TcpChannel, AChooserSpreadsChildrenOverAllLoops) {
    const DescriptorGuard guard;
    SocketLoops host(2);
    std::mutex lock;
    std::set<EventLoop*> used;
    unsigned next = 0;
    Server server(
        host,
        [&](Channel& channel) {
            EXPECT_TRUE(channel.loop().inEventLoop());
            const std::lock_guard held(lock);
            used.insert(&channel.loop());
            echo(channel);
        },
        [&]() -> EventLoop& { return host.loop(next++ % 2); });
    for (int i = 0; i < 4; ++i) {
        BlockingPeer peer(server.address);
        peer.send("hi");
        EXPECT_EQ(peer.receiveExactly(2), "hi");
    }
    const std::lock_guard held(lock);
    EXPECT_EQ(used.size(), 2u);
}

TEST(TcpChannel, FourMebibytesReachASlowReader) {
    const DescriptorGuard guard;
    const std::string sent = pattern(4 << 20);
    SocketLoops host;
    Server server(host, [&](Channel& channel) { channel.pipeline().addLast<Sender>(sent); });
    BlockingPeer peer(server.address);
    std::string received;
    for (;;) {
        const std::string more = peer.receive(1500);
        if (more.empty()) break;
        received += more;
        if (received.size() % 7 == 0) std::this_thread::yield();
    }
    EXPECT_TRUE(received == sent) << received.size() << " bytes";
}

// Tells a promise how the connection ended.
class Witness final : public ChannelInboundHandler {
  public:
    explicit Witness(Promise<std::string>& told) : told_(told) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        story_ += "read " + std::string(message.get<Buffer>().view()) + "; ";
    }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        if (!event.is<InputShutdownEvent>()) return;
        story_ += "input shutdown; ";
        ChannelPromise promise = ctx.newPromise();
        promise.addListener(closeChannel);
        ctx.writeAndFlush(Buffer::copyOf("answer"), promise);
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        story_ += "error " + std::to_string(errorCodeOf(cause).value()) + "; ";
    }
    void channelInactive(ChannelHandlerContext&) override { told_.setValue(story_ + "inactive"); }

  private:
    Promise<std::string>& told_;
    std::string story_;
};

TEST(TcpChannel, AResetByThePeerIsAnErrorThenInactive) {
    const DescriptorGuard guard;
    Promise<std::string> told;
    Future<std::string> story = told.future();
    SocketLoops host;
    Server server(host, [&](Channel& channel) { channel.pipeline().addLast<Witness>(told); });
    BlockingPeer peer(server.address);
    peer.reset();
    ASSERT_TRUE(story.awaitUntil(testDeadline()));
    EXPECT_EQ(story.get(), "error " + std::to_string(ECONNRESET) + "; inactive");
}

TEST(TcpChannel, HC1_ThePeersEndClosesTheChannel) {
    const DescriptorGuard guard;
    Promise<std::string> told;
    Future<std::string> story = told.future();
    SocketLoops host;
    Server server(host, [&](Channel& channel) { channel.pipeline().addLast<Witness>(told); });
    BlockingPeer peer(server.address);
    peer.send("bye");
    peer.endOutput();
    EXPECT_EQ(peer.receive(), "");
    ASSERT_TRUE(story.awaitUntil(testDeadline()));
    EXPECT_EQ(story.get(), "read bye; inactive");
}

TEST(TcpChannel, HC2_WithHalfClosureTheAnswerStillGoesOut) {
    const DescriptorGuard guard;
    Promise<std::string> told;
    Future<std::string> story = told.future();
    SocketLoops host;
    Server server(host, [&](Channel& channel) {
        channel.setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
        channel.pipeline().addLast<Witness>(told);
    });
    BlockingPeer peer(server.address);
    peer.send("question");
    peer.endOutput();
    EXPECT_EQ(peer.receiveExactly(6), "answer");
    EXPECT_EQ(peer.receive(), "");
    ASSERT_TRUE(story.awaitUntil(testDeadline()));
    EXPECT_EQ(story.get(), "read question; input shutdown; inactive");
}

TEST(TcpChannel, AClientChannelConnectsAndTalks) {
    const DescriptorGuard guard;
    Promise<std::string> told;
    Future<std::string> story = told.future();
    SocketLoops host;
    const std::string greeting = "greetings";
    Server server(host, [&](Channel& channel) { channel.pipeline().addLast<Sender>(greeting); });
    ChannelRef client = makeClient(host, [&](Channel& channel) { channel.pipeline().addLast<Witness>(told); });
    client->connect(server.address).sync();
    ASSERT_TRUE(story.awaitUntil(testDeadline()));
    EXPECT_EQ(story.get(), "read greetings; inactive");
}

TEST(TcpChannel, S4_ARefusedConnectFailsWithTheAddress) {
    const DescriptorGuard guard;
    SocketLoops host;
    SocketAddress gone;
    {
        Server server(host, echo);
        gone = server.address;
        server.channel->close().sync();
    }
    ChannelRef client = makeClient(host, echo);
    ChannelFuture attempt = client->connect(gone);
    ASSERT_TRUE(attempt.awaitUntil(testDeadline()));
    EXPECT_EQ(attempt.error(), fromErrno(ECONNREFUSED));
    EXPECT_NE(describe(attempt.cause()).find(gone.toString()), std::string::npos) << describe(attempt.cause());
    client->close().sync();
}

TEST(TcpChannel, S4_AFailedBindOfAConnectIsReportedAsOneWithTheLocalAddress) {
    const DescriptorGuard guard;
    SocketLoops host;
    Server server(host, echo);
    const SocketAddress local("192.0.2.1", 0);  // for documentation: no address of this host
    const auto expectBindError = [&](const ChannelFuture& attempt) {
        ASSERT_TRUE(attempt.awaitUntil(testDeadline()));
        EXPECT_EQ(attempt.error(), fromErrno(EADDRNOTAVAIL));
        EXPECT_NE(describe(attempt.cause()).find("bind to " + local.toString()), std::string::npos)
            << describe(attempt.cause());
    };
    ChannelRef client = makeClient(host, echo);
    expectBindError(client->bind(local));
    ChannelPromise connected = client->newPromise();
    client->connect(server.address, &local, connected);
    expectBindError(connected.future());
    client->close().sync();
}

TEST(TcpChannel, TheEndOfTheLoopClosesEveryConnection) {
    const DescriptorGuard guard;
    SocketLoops host;
    Server server(host, echo);
    BlockingPeer peer(server.address);
    peer.send("x");
    EXPECT_EQ(peer.receive(), "x");
    host.stop();
    EXPECT_EQ(peer.receive(), "");
    EXPECT_TRUE(server.channel->closed());
}

TEST(TcpChannel, E7_AfterAPauseForDescriptorsTheWaitingConnectionIsServed) {
    const DescriptorGuard guard;
    CountingSystemCalls calls;
    SocketLoops host(1, calls);
    Server server(host, echo);
    Acceptor::lastError = 0;
    calls.acceptError = EMFILE;
    BlockingPeer peer(server.address);  // the kernel completes the handshake by itself
    peer.send("timeout");
    while (Acceptor::lastError == 0) std::this_thread::yield();
    EXPECT_EQ(Acceptor::lastError, EMFILE);
    calls.acceptError = 0;
    EXPECT_EQ(peer.receiveExactly(7), "timeout");  // no new connection, no new edge: the timer resumed it
}

TEST(EpollIoHandler, WorksOnKernelsWithoutPwait2AndItsTimersAreNotEarly) {
    CountingSystemCalls calls;
    calls.withoutPwait2 = true;
    SocketLoops host(1, calls);
    const auto begin = std::chrono::steady_clock::now();
    Promise<void> fired;
    Future<void> done = fired.future();
    host.loop().schedule([fired = std::move(fired)]() mutable { fired.setValue(); }, 3ms);
    ASSERT_TRUE(done.awaitUntil(testDeadline()));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 3ms);

    Server server(host, echo);
    BlockingPeer peer(server.address);
    peer.send("old");
    EXPECT_EQ(peer.receiveExactly(3), "old");
}

TEST(EpollIoHandler, NoWakeUpIsLostBetweenTwoLoops) {
    SocketLoops host(2);
    constexpr int rounds = 20'000;
    Promise<void> reached;
    Future<void> done = reached.future();
    std::atomic<int> count{0};  // passed back and forth by the tasks
    std::function<void()> pass = [&] {
        if (++count == rounds) {
            reached.setValue();
        } else {
            host.loop(static_cast<unsigned>(count.load()) % 2).execute([&] { pass(); });
        }
    };
    host.loop(0).execute([&] { pass(); });
    for (int before = -1; !done.awaitUntil(testDeadline());) {
        const int now = count;
        ASSERT_NE(now, before) << "it has stopped";
        before = now;
    }
}

TEST(EpollIoHandler, AnIdleLoopSleepsInsteadOfSpinning) {
    CountingSystemCalls calls;
    SocketLoops host(1, calls);
    host.inLoop([] {});
    const int waits = calls.waits;
    Promise<void> fired;
    Future<void> done = fired.future();
    host.loop().schedule([fired = std::move(fired)]() mutable { fired.setValue(); }, 50ms);
    ASSERT_TRUE(done.awaitUntil(testDeadline()));
    EXPECT_LE(calls.waits - waits, 10);
}

}  // namespace
}  // namespace weft::test
