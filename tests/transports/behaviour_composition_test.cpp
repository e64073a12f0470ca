// Handlers, fibers and sockets put together on one carrier: behaviours B1, B12 to B14 of the ancestor's test list, and
// what a wake-up must not count as.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/context_spawn.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_listener.hpp>
#include <weft/transports/tcp_stream.hpp>

#include <weft/testing/leak_guard.hpp>
#include "transports/blocking_peer.hpp"
#include "transports/composition_handlers.hpp"
#include "transports/hosted_loop.hpp"
#include "transports/loopback_server.hpp"

namespace weft::test {
namespace {

struct BehaviourComposition : LeakGuard {};

class AnswersFromAFiber final : public ChannelInboundHandler {
  public:
    AnswersFromAFiber(Future<void> latch, std::atomic<int>& blocked) : latch_(std::move(latch)), blocked_(blocked) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        message.reset();
        ctx.spawn([&ctx, latch = latch_, &blocked = blocked_] {
            blocked.fetch_add(1);
            latch.await();
            ctx.writeAndFlush(Buffer::copyOf("HELLO!"));
        });
    }

  private:
    Future<void> latch_;
    std::atomic<int>& blocked_;
};

TEST_F(BehaviourComposition, B1_AFiberThatAHandlerSpawnedBlocksAndThenAnswers) {
    Promise<void> latch;
    std::atomic<int> blocked{0};
    HostedLoop host;
    Server server(host, [&](Channel& child) { child.pipeline().addLast<AnswersFromAFiber>(latch.future(), blocked); });
    BlockingPeer first(server.address);
    BlockingPeer second(server.address);
    first.send("GET");
    second.send("GET");
    while (blocked < 2) std::this_thread::yield();  // the loop goes on while the first fiber waits
    latch.setValue();
    EXPECT_EQ(first.receiveExactly(6), "HELLO!");
    EXPECT_EQ(second.receiveExactly(6), "HELLO!");
}

TEST_F(BehaviourComposition, B12_AFiberThatReadsParksAndResumesWithTheData) {
    HostedLoop host;
    std::atomic<bool> reading{false};
    Promise<SocketAddress> listening;
    auto address = listening.future();
    auto fiber = host.carrier().spawn([&] {
        auto listener = TcpListener::listen(SocketAddress::loopbackV4(0));
        listening.setValue(listener.localAddress());
        TcpStream stream = listener.accept(patience());
        std::string all(6, '?');
        reading = true;
        stream.readExactly(all);
        return all;
    });
    BlockingPeer peer(address.get());
    while (!reading) std::this_thread::yield();
    // Only the one that asks is runnable, once the other has parked: it may have used up its slice before.
    while (host.inFiber([&] { return host.carrier().stats().queueDepth; }) != 1u) std::this_thread::yield();
    peer.send("HEL");
    peer.send("LO!");
    EXPECT_EQ(fiber.join(), "HELLO!");
}

// The ancestor lets reads outlive their event loop. Here the sockets of a loop end with it, so a read that is blocked
// ends with operation_aborted (TcpStream.TheEndOfTheLoopWakesParkedReadersAndAcceptors); what it had got by then is its
// own, and its fiber goes on with whatever needs no socket.
TEST_F(BehaviourComposition, B13_B14_AReadThatOutlivesItsLoopIsAbortedInOrderAndItsFiberGoesOn) {
    HostedLoop host;
    Promise<SocketAddress> listening;
    auto address = listening.future();
    std::atomic<std::size_t> got{0};
    auto fiber = host.carrier().spawn([&] {
        auto listener = TcpListener::listen(SocketAddress::loopbackV4(0));
        listening.setValue(listener.localAddress());
        TcpStream stream = listener.accept(patience());
        std::string all;
        ErrorCode error;
        std::array<char, 1> byte;
        while (stream.read(byte, error) == 1) {
            all += byte[0];
            got = all.size();
        }
        EXPECT_EQ(error, operationAborted());
        EXPECT_EQ(stream.read(byte, error), 0u);
        EXPECT_EQ(error, operationAborted());
        thisFiber::sleepFor(std::chrono::milliseconds(1));
        return all;
    });
    BlockingPeer peer(address.get());
    for (const char letter : std::string("0123456789abcdef").substr(0, 8)) {  // dribbled
        const std::size_t before = got;
        peer.send(std::string(1, letter));
        while (got == before) std::this_thread::yield();
    }
    host.stop();
    EXPECT_EQ(fiber.join(), "01234567");
}

// The netty fix and #112: an eventfd that was counted as I/O made an idle poller look busy.
TEST_F(BehaviourComposition, R112_AWakeUpIsNoIoEvent) {
    HostedLoop host;
    const auto before = host.carrier().stats();
    for (int i = 0; i < 500; ++i) host.inLoop([] {});
    for (int i = 0; i < 500; ++i) host.inFiber([] {});
    EXPECT_GT(host.carrier().stats().wakesPoller, before.wakesPoller);
    EXPECT_EQ(host.carrier().stats().ioEvents, before.ioEvents);
}

struct SpawnsAFiber final : ChannelInboundHandler {
    explicit SpawnsAFiber(std::atomic<unsigned>& itsCount) : count(itsCount) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        message.reset();
        ctx.spawn([&counted = count] { counted.fetch_add(1); });
    }
    std::atomic<unsigned>& count;
};

// Few enough that their stacks are in the cache when they run; and a fiber that is runnable already is not counted.
TEST_F(BehaviourComposition, APollEndsWhenItHasMadeEnoughFibersRunnable) {
    HostedLoop host;
    std::vector<SocketPair> pairs(10);
    std::vector<ChannelRef> channels;
    std::vector<unsigned> events;
    std::atomic<unsigned> ran{0};
    host.inLoop([&] {
        host.carrier().spawnDetached([&] { ran.fetch_add(1); });
        for (SocketPair& pair : pairs) {
            channels.push_back(Channel::create(host.loop()));
            Channel& channel = *channels.back();
            channel.attach(host.poller().stream(std::move(pair.theirs), channel));
            channel.setActive(true);
            channel.pipeline().addLast<SpawnsAFiber>(ran);
            channel.registerWithLoop({});
            pair.send("x");
        }
        PollResult result;
        do {
            result = host.poller().poll(nullptr, never, {std::chrono::hours(1), 256, 3});
            events.push_back(result.events);
        } while (result.more);
        EXPECT_EQ(ran, 0u);
        for (const SocketPair& pair : pairs) pair.send("y");  // no limit, though fibers wait
        const std::size_t none = std::numeric_limits<std::size_t>::max();
        EXPECT_EQ(host.poller().poll(nullptr, never, {std::chrono::hours(1), 256, none}).events, 10u);
    });
    EXPECT_EQ(events, (std::vector<unsigned>{3, 3, 3, 1}));
    while (ran < 21) std::this_thread::yield();
    host.inLoop([&] {
        for (const ChannelRef& channel : channels) channel->close();
        channels.clear();
    });
}

}  // namespace
}  // namespace weft::test
