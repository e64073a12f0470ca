// The table of ends: every handle that a program may keep, used after the end of its loop. Rows: the carriers are the
// group's own or borrowed, on each transport. Columns: how the loops have ended (shutdown(), shutdownGracefully(),
// destruction) and who uses the handles (a plain thread; with borrowed carriers also a fiber of the loop's own
// carrier). Each operation ends, is refused, and releases what it was given. The address sanitizer sees the rest.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/pipeline/channel_group.hpp>
#include <weft/pipeline/context_pin.hpp>
#include <weft/scheduler/blocking_pool.hpp>

#include "framework/ends_of_loops.hpp"

namespace weft::test {
namespace {

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
        kept_.timed = ctx.schedule([] {}, std::chrono::hours(1));
        kept_.all.setValue();
    }

  private:
    Kept& kept_;
};

void serve(ServerBootstrap& bootstrap, Kept& kept) {
    bootstrap.childHandler([&kept](Channel& channel) {
        channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>(1000).addLast<Keeps>(kept);
    });
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
        Starts(std::atomic<bool>& go, std::atomic<int>& ended, std::atomic<int>& begun)
            : go(go), ended(ended), begun(begun) {}
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

INSTANTIATE_TEST_SUITE_P(Table, EndsOfLoops, testing::ValuesIn(rows()), nameOf);

}  // namespace
}  // namespace weft::test
