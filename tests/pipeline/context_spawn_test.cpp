// What happens to fibers that a channel's handlers spawned when the channel closes.
#include <weft/pipeline/context_spawn.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "hosted_channel.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using test::HostedChannel;

using Body = std::function<void(ChannelHandlerContext&)>;

// Spawns each function that it receives.
struct Spawns final : ChannelInboundHandler {
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        ctx.spawn([&ctx, body = event.take<Body>()] { body(ctx); }, {.name = "spawned"});
    }
};

struct SpawningChannel : HostedChannel {
    SpawningChannel() : HostedChannel([](Channel& inner) { inner.pipeline().addLast<Spawns>(); }) {}
    void spawn(Body body) { (*this)->pipeline().fireUserEventTriggered(Message(std::move(body))); }
    std::size_t fibers() {
        std::size_t count = 0;
        host.inDispatch(
            [&] { channel->fibers().forEach([&](std::string_view name, TimePoint) { count += name == "spawned"; }); });
        return count;
    }
};

ErrorCode sleepForever() {
    ErrorCode error;
    thisFiber::sleepFor(std::chrono::hours(1), error);
    return error;
}

TEST(ContextSpawn, TheCloseOfTheChannelCancelsWhatItsHandlersSpawned) {
    SpawningChannel channel;
    std::vector<Promise<ErrorCode>> ends(3);
    std::vector<Future<ErrorCode>> ended;
    for (auto& end : ends) {
        ended.push_back(end.future());
        channel.spawn([&end](ChannelHandlerContext&) { end.setValue(sleepForever()); });
    }
    while (channel.fibers() < ends.size()) std::this_thread::yield();
    channel->close().sync();
    for (const auto& end : ended) EXPECT_EQ(end.get(), operationAborted());
}

struct Order {
    std::function<int()> body;
    JoinHandle<int>* handle;
    Promise<void>* spawned;
};

// Spawns each order's function and hands out the handle.
struct SpawnsJoinable final : ChannelInboundHandler {
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        Order order = event.take<Order>();
        *order.handle = ctx.spawnJoinable(std::move(order.body), {.name = "spawned"});
        order.spawned->setValue();
    }
};

struct JoinableChannel : HostedChannel {
    JoinableChannel() : HostedChannel([](Channel& inner) { inner.pipeline().addLast<SpawnsJoinable>(); }) {}
    JoinHandle<int> spawn(std::function<int()> body) {
        JoinHandle<int> handle;
        Promise<void> spawned;
        const Future<void> done = spawned.future();
        (*this)->pipeline().fireUserEventTriggered(Message(Order{std::move(body), &handle, &spawned}));
        done.get();
        return handle;
    }
};

TEST(ContextSpawn, AHandleGivesTheResultOrTheException) {
    JoinableChannel channel;
    EXPECT_EQ(channel.spawn([] { return 7; }).join(), 7);
    JoinHandle<int> failed = channel.spawn([]() -> int { throw std::runtime_error("no result"); });
    EXPECT_THROW(failed.join(), std::runtime_error);
}

TEST(ContextSpawn, AHandleCancelsItsFiberAlone) {
    JoinableChannel channel;
    JoinHandle<int> one = channel.spawn([] { return sleepForever() == operationAborted() ? 1 : 0; });
    JoinHandle<int> other = channel.spawn([] { return sleepForever() == operationAborted() ? 2 : 0; });
    one.cancel();
    EXPECT_EQ(one.join(), 1);
    EXPECT_FALSE(other.done());
    channel->close().sync();
    EXPECT_EQ(other.join(), 2);
}

TEST(ContextSpawn, AFiberThatBeginsBehindTheCloseIsCancelledToo) {
    SpawningChannel channel;
    Promise<ErrorCode> end;
    const Future<ErrorCode> ended = end.future();
    channel.host.inFiber([&] {  // on the channel's carrier: the spawned fiber starts after this one
        channel.spawn([&end](ChannelHandlerContext&) { end.setValue(sleepForever()); });
        channel->close();
    });
    EXPECT_EQ(ended.get(), operationAborted());
}

TEST(ContextSpawn, ANeighboursFibersAndThoseOfTheCarrierGoOn) {
    SpawningChannel channel;
    Promise<void> open;
    auto outsider = channel.host.carrier.spawn([gate = open.future()] { gate.await(); });
    ChannelRef neighbour = Channel::create(channel.host.loop);
    auto script = std::make_shared<test::SinkScript>();
    neighbour->attach(std::make_unique<test::ScriptedSink>(*neighbour, script));
    neighbour->setActive(true);
    neighbour->pipeline().addLast<Spawns>();
    neighbour->registerWithLoop().sync();
    Promise<void> end;
    const Future<void> ended = end.future();
    neighbour->pipeline().fireUserEventTriggered(Message(Body([&end, gate = open.future()](ChannelHandlerContext&) {
        gate.await();
        end.setValue();
    })));
    channel->close().sync();
    channel.host.inDispatch([] {});
    open.setValue();
    EXPECT_NO_THROW(outsider.join());
    EXPECT_NO_THROW(ended.get());
    neighbour->close().sync();
    channel.host.inDispatch([] {});
}

TEST(ContextSpawn, AFiberIsOneOfItsChannelsFromTheSpawnOn) {
    SpawningChannel channel;
    channel.host.inDispatch([&] {
        channel.spawn([](ChannelHandlerContext&) {});
        EXPECT_FALSE(channel->fibers().empty());
    });
    while (channel.fibers() != 0) std::this_thread::yield();
}

TEST(ContextSpawn, AFiberWokenInChannelInactiveGetsThatErrorFirst) {
    struct Tells final : ChannelInboundHandler {
        explicit Tells(Promise<void>& promise) : promise_(promise) {}
        void channelInactive(ChannelHandlerContext& ctx) override {
            promise_.setError(std::make_exception_ptr(std::runtime_error("the connection has ended")));
            ctx.fireChannelInactive();
        }
        Promise<void>& promise_;
    };
    Promise<void> news;
    Promise<std::string> end;
    const Future<std::string> ended = end.future();
    SpawningChannel channel;
    channel.host.inDispatch([&] { channel->pipeline().addLast<Tells>(news); });
    channel.spawn([&end, hears = news.future()](ChannelHandlerContext&) {
        try {
            hears.get();
        } catch (const std::exception& error) {
            end.setValue(error.what());
        }
    });
    while (channel.fibers() == 0) std::this_thread::yield();
    channel->close().sync();
    EXPECT_EQ(ended.get(), "the connection has ended");
}

TEST(ContextSpawn, AShieldLetsAFiberFinishBehindTheClose) {
    SpawningChannel channel;
    Promise<void> open;
    Promise<ErrorCode> end;
    const Future<ErrorCode> ended = end.future();
    channel.spawn([&end, gate = open.future()](ChannelHandlerContext&) {
        {
            const CancellationShield shield;
            gate.await();
        }
        end.setValue(sleepForever());
    });
    while (channel.fibers() == 0) std::this_thread::yield();
    channel->close().sync();
    channel.host.inDispatch([] {});
    EXPECT_FALSE(ended.done());
    open.setValue();
    EXPECT_EQ(ended.get(), operationAborted());
}

// ---- what is logged when they end ----

TEST(ContextSpawn, AFiberThatTheCloseOfItsChannelEndedIsNoErrorAndNamesHandlerChannelAndPeer) {
    const test::LogCapture log;
    SpawningChannel channel;
    channel.sink->remote = SocketAddress::loopbackV4(1234);
    const std::string id = "channel " + std::to_string(channel->id());
    channel.spawn([](ChannelHandlerContext&) { thisFiber::sleepFor(std::chrono::hours(1)); });
    while (channel.fibers() == 0) std::this_thread::yield();
    channel->close().sync();
    EXPECT_TRUE(log.await("'spawned'"));
    EXPECT_EQ(log.countAt(LogLevel::debug, "fiber 'spawned' of handler Spawns#0", id, "127.0.0.1:1234"), 1)
        << log.text();
    EXPECT_EQ(log.countAt(LogLevel::error, ""), 0) << log.text();
}

TEST(ContextSpawn, AWriterWhosePeerAbortedItsDownloadIsNoError) {
    const test::LogCapture log;
    SpawningChannel channel;
    Promise<void> aborted;
    channel.spawn([end = aborted.future()](ChannelHandlerContext& ctx) {
        end.await();
        ChannelPromise written = ctx.newPromise();
        ctx.writeAndFlush(Buffer::copyOf("piece"), written);
        written.future().sync();
    });
    channel.host.inDispatch([&] {
        channel->onError(fromErrno(ECONNRESET));
        aborted.setValue();
    });
    EXPECT_TRUE(log.await("'spawned'"));
    EXPECT_EQ(log.countAt(LogLevel::debug, "fiber 'spawned'", "Spawns#0"), 1) << log.text();
    EXPECT_EQ(log.countAt(LogLevel::error, "") + log.countAt(LogLevel::warning, ""), 0) << log.text();
}

TEST(ContextSpawn, AnyOtherExceptionIsAnErrorWithItsHandlerAndChannel) {
    const test::LogCapture log;
    SpawningChannel channel;
    channel.spawn([](ChannelHandlerContext&) { throw std::runtime_error("a bug"); });
    channel.spawn([](ChannelHandlerContext&) { throw SystemError(fromErrno(ECONNRESET), "a backend"); });
    EXPECT_TRUE(log.await("a backend"));
    const std::string id = "channel " + std::to_string(channel->id());
    EXPECT_EQ(log.countAt(LogLevel::error, "fiber 'spawned' of handler Spawns#0", id, "a bug"), 1) << log.text();
    EXPECT_EQ(log.countAt(LogLevel::error, "a backend"), 1) << "this connection has not ended: " << log.text();
}

}  // namespace
}  // namespace weft
