// Handlers, fibers and sockets together on one carrier: the behaviours BEH-1 and BEH-12 to BEH-14, taken from the
// ancestor's tests; and a wake-up is not counted as an I/O event.
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
#include "transports/loopback_server.hpp"
#include "transports/socket_loops.hpp"

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

TEST_F(BehaviourComposition, BEH1_AFiberThatAHandlerSpawnedBlocksAndThenAnswers) {
    Promise<void> latch;
    std::atomic<int> blocked{0};
    SocketLoops host;
    Server server(host, [&](Channel& child) { child.pipeline().addLast<AnswersFromAFiber>(latch.future(), blocked); });
    BlockingPeer first(server.address);
    BlockingPeer second(server.address);
    first.send("GET");
    second.send("GET");
    while (blocked < 2) std::this_thread::yield();  // the loop runs on while the first fiber waits
    latch.setValue();
    EXPECT_EQ(first.receiveExactly(6), "HELLO!");
    EXPECT_EQ(second.receiveExactly(6), "HELLO!");
}

TEST_F(BehaviourComposition, BEH12_AFiberThatReadsParksAndResumesWithTheData) {
    SocketLoops host;
    std::atomic<bool> reading{false};
    Promise<SocketAddress> listening;
    auto address = listening.future();
    auto fiber = host.carrier().spawn([&] {
        auto listener = TcpListener::listen(SocketAddress::loopbackV4(0));
        listening.setValue(listener.localAddress());
        TcpStream stream = listener.accept(testDeadline());
        std::string all(6, '?');
        reading = true;
        stream.readExactly(all);
        return all;
    });
    BlockingPeer peer(address.get());
    while (!reading) std::this_thread::yield();
    // Once the reader has parked, only the querying fiber is runnable; the reader may have yielded before that.
    while (host.inFiber([&] { return host.carrier().stats().queueDepth; }) != 1u) std::this_thread::yield();
    peer.send("HEL");
    peer.send("LO!");
    EXPECT_EQ(fiber.join(), "HELLO!");
}

// The ancestor lets reads outlive their event loop. Here the sockets of a loop end with it, so a blocked read fails
// with operation_aborted (TcpStream.TheEndOfTheLoopWakesParkedReadersAndAcceptors). The fiber keeps the bytes that it
// has received and can go on with work that needs no socket.
TEST_F(BehaviourComposition, BEH13_BEH14_AReadThatOutlivesItsLoopIsAbortedInOrderAndItsFiberGoesOn) {
    SocketLoops host;
    Promise<SocketAddress> listening;
    auto address = listening.future();
    std::atomic<std::size_t> got{0};
    auto fiber = host.carrier().spawn([&] {
        auto listener = TcpListener::listen(SocketAddress::loopbackV4(0));
        listening.setValue(listener.localAddress());
        TcpStream stream = listener.accept(testDeadline());
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
    for (const char letter : std::string("0123456789abcdef").substr(0, 8)) {  // in single bytes
        const std::size_t before = got;
        peer.send(std::string(1, letter));
        while (got == before) std::this_thread::yield();
    }
    host.stop();
    EXPECT_EQ(fiber.join(), "01234567");
}

// The netty fix and #112: an eventfd counted as I/O made an idle poller look busy.
TEST_F(BehaviourComposition, R112_AWakeUpIsNoIoEvent) {
    SocketLoops host;
    const auto before = host.carrier().stats();
    for (int i = 0; i < 500; ++i) host.inLoop([] {});
    for (int i = 0; i < 500; ++i) host.inFiber([] {});
    EXPECT_GT(host.carrier().stats().wakesPoller, before.wakesPoller);
    EXPECT_EQ(host.carrier().stats().ioEvents, before.ioEvents);
}

struct SpawnsAFiber final : ChannelInboundHandler {
    explicit SpawnsAFiber(std::atomic<unsigned>& count) : count(count) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        message.reset();
        ctx.spawn([&counted = count] { counted.fetch_add(1); });
    }
    std::atomic<unsigned>& count;
};

// Few enough that their stacks are in the cache when they run; fibers that were runnable before are not counted.
TEST_F(BehaviourComposition, APollEndsWhenItHasMadeEnoughFibersRunnable) {
    SocketLoops host;
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
        for (const SocketPair& pair : pairs) pair.send("y");  // no limit, although fibers wait
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
