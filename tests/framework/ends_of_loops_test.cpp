// The table of ends: every handle that a program may keep, used after the end of its loop. Rows: the carriers are the
// group's own or borrowed, on each transport. Columns: how the loops have ended (shutdown(), shutdownGracefully(),
// destruction) and who uses the handles (a plain thread; with borrowed carriers also a fiber of the loop's own
// carrier). Each operation ends, is refused, and releases what it was given. The address sanitizer sees the rest.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/pipeline/channel_group.hpp>
#include <weft/pipeline/context_pin.hpp>
#include <weft/scheduler/blocking_pool.hpp>
#include <weft/transports/uring/uring_support.hpp>

#include "framework/bench.hpp"

namespace weft::test {
namespace {

enum class Carriers : bool { own, borrowed };
enum class End : unsigned char { shutdown, graceful, destroyed };
struct Row {
    Carriers carriers;
    Transport::Kind transport;
    End end;
};

std::string nameOf(const testing::TestParamInfo<Row>& row) {
    const char* const ends[] = {"Shutdown", "Graceful", "Destroyed"};
    return std::string(row.param.carriers == Carriers::own ? "Own" : "Borrowed") +
           (row.param.transport == Transport::Kind::epoll ? "Epoll" : "Uring") +
           ends[static_cast<std::size_t>(row.param.end)];
}

// What a handler of a server's connection gives to the rest of the program.
struct Kept {
    std::optional<ContextPin> pin;
    std::optional<http::Responder> responder;
    std::optional<http::BodyWriter> body;
    ScheduledTask timed;
    Promise<void> all;
};

class Keeps final : public SimpleInboundHandler<http::FullRequest> {
  public:
    explicit Keeps(Kept& kept) : kept_(kept) {}

  protected:
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        if (!kept_.body) {
            kept_.body.emplace(request.responder().begin({}));
            return;
        }
        kept_.pin.emplace(ctx);
        kept_.responder.emplace(request.responder());
        kept_.timed = ctx.schedule(std::chrono::hours(1), [] {});
        kept_.all.setValue();
    }

  private:
    Kept& kept_;
};

// Counts the objects that a program gives to an ended loop and that are still alive.
class Witness {
  public:
    std::shared_ptr<int> one() const { return life_; }
    bool alone() const { return life_.use_count() == 1; }

  private:
    std::shared_ptr<int> life_ = std::make_shared<int>(0);
};

struct Holds final : ChannelOutboundHandler {
    explicit Holds(std::shared_ptr<int> its) : held(std::move(its)) {}
    void handlerAdded(ChannelHandlerContext&) override { ADD_FAILURE() << "added to the pipeline of an ended loop"; }
    const std::shared_ptr<int> held;
};

class EndsOfLoops : public testing::TestWithParam<Row> {
  protected:
    void SetUp() override {
        if (GetParam().transport == Transport::Kind::ioUring && !UringSupport::ofThisProcess().available())
            GTEST_SKIP() << "io_uring is not permitted here";
        if (borrows()) carriers_.emplace(carrierOptions("test", 2));
        EventLoopGroupOptions options = groupOptions(2);
        options.transport = GetParam().transport;
        group_ = borrows() ? std::make_unique<EventLoopGroup>(*carriers_, GetParam().transport)
                           : std::make_unique<EventLoopGroup>(options);
    }
    bool borrows() const { return GetParam().carriers == Carriers::borrowed; }

    void serve(ServerBootstrap& bootstrap, Kept& kept) {
        bootstrap.childHandler([&kept](Channel& channel) {
            channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>(1000).addLast<Keeps>(kept);
        });
    }
    void end() {
        switch (GetParam().end) {
            case End::shutdown: ASSERT_TRUE(group_->shutdown(20s)); break;
            case End::graceful: group_->shutdownGracefully(0ms, 1h).await(); break;
            case End::destroyed: group_.reset(); break;
        }
    }
    // Calls use() on a plain thread, and on the loop's own carrier where that runs on.
    template <class Use>
    void byEachCaller(std::size_t carrier, Use use) {
        use();
        if (borrows()) carriers_->carrier(carrier).spawn(use).join();
    }

    std::optional<CarrierGroup> carriers_;
    std::unique_ptr<EventLoopGroup> group_;
};

void expectRefused(const ChannelFuture& future, const char* what) {
    ASSERT_TRUE(future.awaitUntil(testDeadline())) << what << " has no end";
    EXPECT_FALSE(future.success()) << what;
}
void expectSuccess(const ChannelFuture& future, const char* what) {
    ASSERT_TRUE(future.awaitUntil(testDeadline())) << what << " has no end";
    EXPECT_TRUE(future.success()) << what;
}

void useChannel(Channel& channel) {
    const Witness witness;
    EXPECT_FALSE(channel.open());
    EXPECT_FALSE(channel.active());
    expectSuccess(channel.closeFuture(), "closeFuture()");
    expectSuccess(channel.close(), "close()");
    expectSuccess(channel.disconnect(), "disconnect()");
    const ChannelPromise written = channel.newPromise();
    channel.writeAndFlush(Message(witness.one()), written);
    expectRefused(written.future(), "writeAndFlush()");
    channel.write(Message(witness.one()));
    channel.flush();
    channel.read();
    expectRefused(channel.writeFuture(Buffer::copyOf("x")), "writeFuture()");
    expectRefused(channel.shutdownOutput(), "shutdownOutput()");
    expectRefused(channel.bind(anyPort), "bind()");
    expectRefused(channel.connect(anyPort), "connect()");
    EXPECT_TRUE(channel.deregister().awaitUntil(testDeadline()));
    channel.pipeline().addLast(std::make_unique<Holds>(witness.one()));
    channel.pipeline().addFirst("first", std::make_unique<Holds>(witness.one()));
    channel.pipeline().addBefore("none", "other", std::make_unique<Holds>(witness.one()));
    channel.pipeline().remove("none");
    channel.pipeline().fireUserEventTriggered(Message(witness.one()));
    channel.setUserDefinedWritability(1, false);
    EXPECT_EQ(channel.setOption(ChannelOption::NO_DELAY, true), operationAborted());
    static_cast<void>(channel.setOption(ChannelOption::AUTO_READ, false));
    EXPECT_TRUE(witness.alone());
}

TEST_P(EndsOfLoops, EveryOperationOfAKeptChannelEndsAndReleasesWhatItWasGiven) {
    Kept kept;
    ServerBootstrap bootstrap(*group_);
    serve(bootstrap, kept);
    const Server server = bootstrap.bind(anyPort).sync().channel();
    const ChannelRef client = Bootstrap(*group_).connect(server.localAddress()).sync().channel();
    const ChannelRef listener = server.listeners()[0];
    const std::size_t carrier = client->loop().carrier()->index();
    const std::size_t acceptor = listener->loop().carrier()->index();
    end();
    byEachCaller(carrier, [&] { useChannel(*client); });
    byEachCaller(acceptor, [&] { useChannel(*listener); });
    byEachCaller(carrier, [&] {
        EXPECT_TRUE(server.liveChildren() <= 1);
        EXPECT_TRUE(Server(server).close().awaitUntil(testDeadline()));
        EXPECT_EQ(Server(server).drain(20s), 0u);
    });
}

TEST_P(EndsOfLoops, WhatAHandlerHasKeptMayBeUsedAndDestroyed) {
    Kept kept;
    ServerBootstrap bootstrap(*group_);
    serve(bootstrap, kept);
    const Server server = bootstrap.bind(anyPort).sync().channel();
    BlockingPeer peer(server.localAddress());
    peer.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(kept.all.future().awaitUntil(testDeadline()));
    const std::size_t carrier = kept.pin->context().channel().loop().carrier()->index();
    end();
    byEachCaller(carrier, [&] {
        ChannelHandlerContext& ctx = kept.pin->context();
        expectRefused(ctx.writeFuture(Buffer::copyOf("late")), "a pin's write");
        expectSuccess(ctx.close(), "a pin's close");
        useChannel(ctx.channel());
        EXPECT_FALSE(kept.timed.cancel());
        EXPECT_TRUE(kept.timed.done());
        const ChannelPromise piece = ctx.newPromise();
        kept.body->write(Buffer::copyOf("late"), piece);
        expectRefused(piece.future(), "a body's write");
        if (!kept.responder->answered()) {
            const ChannelPromise sent = ctx.newPromise();
            kept.responder->send(http::ok("late"), sent);
            expectRefused(sent.future(), "a response");
        }
    });
}

TEST_P(EndsOfLoops, ListenersOfKeptFuturesAreCalledOrDestroyedAndGroupsOfChannelsEnd) {
    ServerBootstrap bootstrap(*group_);
    bootstrap.childHandler([](Channel&) {});
    const Server server = bootstrap.bind(anyPort).sync().channel();
    ChannelFuture connected = Bootstrap(*group_).connect(server.localAddress()).sync();
    const ChannelRef client = connected.channel();
    const std::size_t carrier = client->loop().carrier()->index();
    const ChannelFuture early = ChannelPromise::early(client->loop()).future();
    ChannelPromise pending = client->newPromise();
    const Witness before;
    pending.addListener([held = before.one()](const ChannelFuture&) {});
    end();
    byEachCaller(carrier, [&] {
        const Witness witness;
        client->closeFuture().addListener([held = witness.one()](const ChannelFuture&) {});
        connected.addListener([held = witness.one()](const ChannelFuture&) {});
        early.cancel();
        early.addListener([held = witness.one()](const ChannelFuture&) {});
        EXPECT_TRUE(witness.alone());
        pending.tryFailure(operationAborted());
        EXPECT_TRUE(before.alone());

        ChannelGroup all;
        EXPECT_FALSE(all.add(*client));
        EXPECT_TRUE(all.empty());
        const ChannelGroupFuture closed({client->close(), client->closeFuture()});
        EXPECT_TRUE(closed.awaitUntil(testDeadline()));
        EXPECT_TRUE(closed.success());
        const ChannelGroupFuture failed({client->writeFuture(Buffer::copyOf("x"))});
        EXPECT_TRUE(failed.awaitUntil(testDeadline()));
        EXPECT_EQ(failed.failures().size(), 1u);
    });
}

TEST_P(EndsOfLoops, BindAndConnectFailWhoeverCallsThem) {
    if (GetParam().end == End::destroyed) return;  // both use the group
    end();
    ServerBootstrap server(*group_);
    server.childHandler([](Channel&) {});
    Bootstrap client(*group_);
    const SocketAddress address = SocketAddress::loopbackV4(9);
    const auto use = [&] {
        const BindFuture bound = server.bind(anyPort);
        EXPECT_TRUE(bound.future().awaitUntil(testDeadline())) << "bind() has no end";
        EXPECT_TRUE(bound.cause());
        expectRefused(client.connect(address), "connect()");
        expectRefused(Bootstrap(*group_).retry(3, 1ms).connect(address), "connect() with retries");
        expectRefused(client.connect("localhost", 9), "connect() to a name");
    };
    use();
    if (borrows()) carriers_->carrier(0).spawn(use).join();
}

TEST_P(EndsOfLoops, FibersOfHandlersAndFunctionsOfTheBlockingPoolMayEndLater) {
    struct Starts final : ChannelInboundHandler {
        Starts(std::atomic<bool>& itsGo, std::atomic<int>& itsEnded, std::atomic<int>& itsBegun)
            : go(itsGo), ended(itsEnded), begun(itsBegun) {}
        void channelActive(ChannelHandlerContext& ctx) override {
            ctx.spawn([this, &ctx] {
                ErrorCode error;
                ++begun;
                thisFiber::sleepFor(1h, error);  // until the channel closes
                const CancellationShield shield;
                while (!go) thisFiber::yield();
                ctx.writeAndFlush(Buffer::copyOf("late"));
                ++ended;
            });
            ctx.loop().carrier()->group().blockingPool().post([this, pin = std::make_shared<ContextPin>(ctx)] {
                ++begun;
                while (!go || (*pin)->channel().open()) std::this_thread::yield();
                expectRefused((*pin)->writeFuture(Buffer::copyOf("late")), "a late write");
                ++ended;
            });
        }
        std::atomic<bool>& go;
        std::atomic<int>& ended;
        std::atomic<int>& begun;
    };
    std::atomic<bool> go{false};
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    Bootstrap client(*group_);
    client.handler([&](Channel& channel) { channel.pipeline().addLast<Starts>(go, ended, begun); });
    ServerBootstrap bootstrap(*group_);
    bootstrap.childHandler([](Channel&) {});
    const Server server = bootstrap.bind(anyPort).sync().channel();
    client.connect(server.localAddress()).sync();
    ASSERT_TRUE(eventually([&] { return begun == 2; }));
    if (borrows()) {
        end();
        go = true;
        ASSERT_TRUE(eventually([&] { return ended == 2; }));
        ASSERT_TRUE(carriers_->shutdown(20s));
    } else {
        // Its end waits for the fiber and, in the destructor, for the function.
        go = true;
        end();
    }
    group_.reset();
    EXPECT_EQ(ended, 2);
}

std::vector<Row> rows() {
    std::vector<Row> all;
    for (const Carriers carriers : {Carriers::own, Carriers::borrowed}) {
        for (const Transport::Kind transport : {Transport::Kind::epoll, Transport::Kind::ioUring}) {
            for (const End end : {End::shutdown, End::graceful, End::destroyed})
                all.push_back({carriers, transport, end});
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Table, EndsOfLoops, testing::ValuesIn(rows()), nameOf);

}  // namespace
}  // namespace weft::test
