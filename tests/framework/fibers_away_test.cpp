// Stolen fibers: an object of their home carrier brings them home before the access, or posts the access there
// (docs/explanation/testing.md, "State that only the turns of a carrier order").
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "framework/bench.hpp"
#include "scheduler/be_stolen.hpp"

namespace weft::test {
namespace {

class StolenFiberCalls : public testing::Test {
  public:
    Carrier& home() { return group.carriers().carrier(0); }
    Carrier& other() { return group.carriers().carrier(1); }
    template <class F>
    void inFiber(F body) {
        runStealableFiber(home(), std::move(body));
    }
    // Lets the fiber be stolen, and expects that the call ends at home.
    template <class F>
    void comesHome(const char* what, F call) {
        beStolen();
        ASSERT_FALSE(home().isCurrent());
        call();
        EXPECT_TRUE(home().isCurrent()) << what;
    }

    EventLoopGroup group{stealingAtOnce(groupOptions(2), 2)};
};

TEST_F(StolenFiberCalls, SocketCallsReturnToTheHomeCarrier) {
    inFiber([&] {
        std::optional<TcpListener> listener;
        std::optional<TcpStream> client, server;
        std::string bytes(4, '?');
        ErrorCode error;
        comesHome("listen", [&] { listener.emplace(TcpListener::listen(anyPort)); });
        const SocketAddress address = listener->localAddress();
        comesHome("connect", [&] { client.emplace(TcpStream::connect(address, testDeadline())); });
        comesHome("accept", [&] { server.emplace(listener->accept(testDeadline())); });
        comesHome("write", [&] { client->write(std::string_view("ping")); });
        comesHome("read", [&] { server->readExactly(bytes); });
        EXPECT_EQ(bytes, "ping");
        comesHome("tryRead", [&] { server->tryRead(bytes, error); });
        comesHome("close of a stream", [&] { client->close(); });
        comesHome("close of a listener", [&] { listener->close(); });
        comesHome("the end of a stream", [&] { server.reset(); });
        comesHome("an assignment", [&] {
            TcpListener fresh;
            listener.emplace(TcpListener::listen(anyPort));
            beStolen();
            *listener = std::move(fresh);
        });
    });
}

// The fiber is on the right thread, but its home carrier is another one.
TEST_F(StolenFiberCalls, SocketsOfTheCarrierThatStoleThemAreRefused) {
    std::optional<TcpListener> others;
    other().spawn([&] { others.emplace(TcpListener::listen(anyPort)); }).join();
    inFiber([&] {
        beStolen();
        EXPECT_THROW(others->accept(testDeadline()), std::logic_error);
        EXPECT_TRUE(other().isCurrent());
    });
    other().spawn([&] { others.reset(); }).join();
}

TEST_F(StolenFiberCalls, TheirSpawnedFibersBelongToTheHomeCarrier) {
    inFiber([&] {
        beStolen();
        EXPECT_EQ(Carrier::home(), &home());
        EXPECT_EQ(spawn([] { return thisFiber::carrier(); }).join(), &home());
        beStolen();
        EXPECT_EQ(&group.carriers().next(), &home());
        EXPECT_EQ(group.next().carrier(), &home());
    });
    EXPECT_EQ(Carrier::home(), nullptr);
}

TEST_F(StolenFiberCalls, CallsOfTheHttpClientReturnToTheHomeCarrier) {
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([](Channel& channel) {
        struct Hello final : SimpleInboundHandler<http::FullRequest> {
            void channelRead0(ChannelHandlerContext&, http::FullRequest request) override {
                request.responder().send(http::ok(Buffer::copyOf("hello"), "text/plain"));
            }
        };
        channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Hello>();
    });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    inFiber([&] {
        for (int i = 0; i < 3; ++i) {
            comesHome("http::get", [&] { EXPECT_EQ(Buffer(http::get(server.localAddress(), "/")).view(), "hello"); });
        }
    });
}

TEST_F(StolenFiberCalls, TheirLoopRunsWhatTheyPost) {
    EventLoop& loop = *EventLoop::of(home());
    const auto posted = [&](auto post) {
        Promise<Carrier*> ran;
        const Future<Carrier*> where = ran.future();
        beStolen();
        EXPECT_FALSE(loop.inEventLoop());
        post([&loop, ran = std::move(ran)]() mutable {
            ran.setValue(loop.inEventLoop() ? Carrier::current() : nullptr);
        });
        EXPECT_TRUE(other().isCurrent());
        EXPECT_EQ(where.get(), &home());
        thisFiber::goHome();
        EXPECT_TRUE(loop.inEventLoop());
    };
    inFiber([&] {
        posted([&](auto task) { loop.execute(std::move(task)); });
        posted([&](auto task) { loop.schedule(std::move(task), Duration::zero()); });
    });
}

TEST_F(StolenFiberCalls, TheirBuffersReturnToThePoolFromAnyCarrier) {
    inFiber([&] {
        std::optional<Buffer> atHome = Buffer::copyOf("made at home");
        beStolen();
        EXPECT_EQ(atHome->view(), "made at home");
        atHome.reset();
        std::optional<Buffer> away = Buffer::copyOf("made away");
        EXPECT_TRUE(other().isCurrent());
        thisFiber::goHome();
        EXPECT_EQ(away->view(), "made away");
    });
}

TEST_F(StolenFiberCalls, TheirPipelinesAreEditedAtHomeAndTheirWritesComplete) {
    struct Editor final : SimpleInboundHandler<Buffer> {
        void channelRead0(ChannelHandlerContext& ctx, Buffer) override {
            const auto edit = [&ctx] {
                Carrier& loops = *thisFiber::carrier();
                beStolen();
                ctx.channel().pipeline().addLast(std::string("echo"), std::make_unique<Echo>());
                EXPECT_TRUE(loops.isCurrent());
                beStolen();
                ctx.channel().pipeline().remove("echo");
                EXPECT_TRUE(loops.isCurrent());
                beStolen();
                ctx.channel().setOption(ChannelOption::AUTO_READ, true);
                EXPECT_TRUE(loops.isCurrent());
                beStolen();
                ChannelPromise written = ctx.newPromise();
                ctx.writeAndFlush(Message(Buffer::copyOf("done")), written);
                EXPECT_TRUE(loops.isCurrent());
                beStolen();
                written.future().sync();  // a promise may be awaited on any carrier
                beStolen();
                ctx.close();
                EXPECT_TRUE(loops.isCurrent());
            };
            ctx.spawn(edit, mayBeStolen);
        }
    };
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([](Channel& channel) { channel.pipeline().addLast<Editor>(); });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    BlockingPeer peer(server.localAddress());
    peer.send("x");
    EXPECT_EQ(peer.receiveExactly(4), "done");
}

TEST_F(StolenFiberCalls, TheirAnswersAreSentAtHome) {
    struct Answerer final : SimpleInboundHandler<http::FullRequest> {
        void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
            auto answer = [responder = request.responder()]() mutable {
                Carrier& loops = *thisFiber::carrier();
                beStolen();
                responder.send(http::ok(Buffer::copyOf("hello"), "text/plain"));
                EXPECT_TRUE(loops.isCurrent());
            };
            ctx.spawn(std::move(answer), mayBeStolen);
        }
    };
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([](Channel& channel) {
        channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Answerer>();
    });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    inFiber([&] {
        for (int i = 0; i < 10; ++i) EXPECT_EQ(Buffer(http::get(server.localAddress(), "/")).view(), "hello");
    });
}

// A fiber's writes at home do not overtake its earlier writes away from home.
TEST_F(StolenFiberCalls, ChannelCallsReturnToTheHomeCarrierAndKeepTheOrder) {
    struct Spawner final : SimpleInboundHandler<Buffer> {
        void channelRead0(ChannelHandlerContext& ctx, Buffer) override {
            const auto write = [&ctx] {
                Carrier& loops = *thisFiber::carrier();
                for (const char* word : {"1", "2", "3", "4"}) {
                    beStolen();
                    ctx.write(Message(Buffer::copyOf(word)));
                    EXPECT_TRUE(loops.isCurrent());
                    ctx.write(Message(Buffer::copyOf(",")));
                }
                beStolen();
                ctx.channel().flush();
                EXPECT_TRUE(loops.isCurrent());
                beStolen();  // the fiber ends away from home
            };
            ctx.spawn(write, mayBeStolen);
        }
    };
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([](Channel& channel) { channel.pipeline().addLast<Spawner>(); });
    const Server server = bootstrap.bind(anyPort).sync().channel();
    for (int i = 0; i < 20; ++i) {
        BlockingPeer peer(server.localAddress());
        peer.send("x");
        EXPECT_EQ(peer.receiveExactly(8), "1,2,3,4,");
    }
}

}  // namespace
}  // namespace weft::test
