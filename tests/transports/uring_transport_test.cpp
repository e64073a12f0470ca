// Specific to io_uring: multishot receives with reading switched at random, exhausted buffers, wake-ups, and what one
// call submits; sends are in uring_send_test.cpp. Files without uring in their names test what both transports do: they
// run on the transport named by WEFT_TRANSPORT.
#include <gtest/gtest.h>
#include <liburing.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

#include "support/pattern.hpp"
#include "transports/blocking_peer.hpp"
#include "transports/loopback_server.hpp"
#include "transports/uring_host.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Sends from another thread while it receives, and compares.
void exchangeBytes(const SocketAddress& address, const std::string& bytes) {
    BlockingPeer peer(address);
    std::thread sender([&] {
        for (std::size_t at = 0; at < bytes.size(); at += 7777) peer.send(std::string_view(bytes).substr(at, 7777));
    });
    const std::string received = peer.receiveExactly(bytes.size());
    sender.join();
    EXPECT_TRUE(received == bytes) << received.size() << " bytes of " << bytes.size();
}

TEST_F(UringTransport, EchoesAHundredConnectionsAHundredRoundTrips) {
    const DescriptorGuard guard;
    UringHost host;
    Server server(host, echo);
    std::vector<std::unique_ptr<BlockingPeer>> peers;
    for (int i = 0; i < 100; ++i) peers.push_back(std::make_unique<BlockingPeer>(server.address));
    for (int round = 0; round < 100; ++round) {
        const std::string message = "round " + std::to_string(round);
        for (auto& peer : peers) peer->send(message);
        for (auto& peer : peers) ASSERT_EQ(peer->receiveExactly(message.size()), message);
    }
}

// Waits for a byte from its peer and then ends the server, as a drain does.
class EndsServer final : public ChannelInboundHandler {
  public:
    explicit EndsServer(Channel& listener) : listener_(listener) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        listener_.sink()->acceptWaiting();
        listener_.close();
        ctx.fireChannelRead(std::move(message));
    }

  private:
    Channel& listener_;
};

// The completions of both connections are in the ring when the first one is dispatched.
TEST_F(UringTransport, ConnectionsWhoseCompletionsWaitInTheRingAreServedAfterTheListenerCloses) {
    const DescriptorGuard guard;
    UringHost host;
    Channel* listener = nullptr;
    Promise<void> accepted;
    Future<void> firstAccepted = accepted.future();
    bool isFirst = true;
    Server server(host, [&](Channel& channel) {
        channel.pipeline().addLast<Echo>();
        if (!std::exchange(isFirst, false)) return;
        channel.pipeline().addFirst<EndsServer>(*listener);
        accepted.setValue();
    });
    host.inLoop([&] { listener = server.channel.get(); });
    BlockingPeer first(server.address);
    ASSERT_TRUE(firstAccepted.awaitUntil(testDeadline()));
    std::vector<std::unique_ptr<BlockingPeer>> peers;
    host.inLoop([&] {
        first.send("x");
        for (int i = 0; i < 20; ++i) {
            peers.push_back(std::make_unique<BlockingPeer>(server.address));
            peers.back()->send("y");
        }
    });
    for (auto& peer : peers) EXPECT_EQ(peer->receiveExactly(1), "y");
}

// As a loop whose outer poller no longer exists.
TEST_F(UringTransport, ALoopThatHasBeenNestedIsWokenWhenItSleepsInItsRing) {
    UringHost host;
    host.inLoop([&] { EXPECT_GE(host.poller().pollFd(), 0); });
    for (int wakeUps = 0; wakeUps < 100; ++wakeUps) {
        awaitAsleep(host.carrier());
        host.inLoop([] {});
    }
}

// One call submits the answers of a turn to the kernel and waits for the next requests.
TEST_F(UringTransport, ATurnOfManyConnectionsIsOneSystemCall) {
    UringHost host;
    Server server(host, echo);
    std::vector<std::unique_ptr<BlockingPeer>> peers;
    for (int i = 0; i < 50; ++i) {
        peers.push_back(std::make_unique<BlockingPeer>(server.address));
        peers.back()->send("x");
        EXPECT_EQ(peers.back()->receive(), "x");
    }
    const UringCounters before = host.counters();
    host.inLoop([&] {
        for (auto& peer : peers) peer->send("y");
    });
    for (auto& peer : peers) EXPECT_EQ(peer->receive(), "y");
    const UringCounters after = host.counters();
    EXPECT_GE(after.entries - before.entries, 50u);
    EXPECT_GE(after.completions - before.completions, 100u) << "a receive and a send for each";
    EXPECT_LE(after.enters - before.enters, 20u);
}

// Switches AUTO_READ off at random, at once or a little later, and on again after a while; half the time it calls
// read() in between.
class Toggler final : public ChannelInboundHandler {
  public:
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        ctx.fireChannelRead(std::move(message));
        if (off_ || random_() % 4 != 0) return;
        off_ = true;
        ChannelRef channel(ctx.channel());
        if (random_() % 2) {
            channel->setOption(ChannelOption::AUTO_READ, false);
        } else {
            channel->loop().execute([channel] { channel->setOption(ChannelOption::AUTO_READ, false); });
        }
        if (random_() % 2) channel->loop().execute([channel] { channel->read(); });
        channel->loop().schedule(
            [this, channel] {
                if (channel->closed()) return;
                off_ = false;
                channel->setOption(ChannelOption::AUTO_READ, true);
            },
            std::chrono::microseconds(random_() % 500));
    }

  private:
    bool off_ = false;
    std::mt19937 random_{2024};
};

void toggleAndEcho(Channel& channel) {
    channel.pipeline().addLast<Toggler>();
    channel.pipeline().addLast<Echo>();
}

TEST_F(UringTransport, AutoReadToggledAtRandomLosesNoByte) {
    const DescriptorGuard guard;
    UringHost host;
    Server server(host, toggleAndEcho);
    exchangeBytes(server.address, pattern(4 << 20));
}

TEST_F(UringTransport, WhenTheBufferRingRunsOutNoByteIsLost) {
    const DescriptorGuard guard;
    UringHost host({.smallBuffers = 2, .largeBuffers = 2});
    Server server(host, toggleAndEcho);
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) clients.emplace_back([&] { exchangeBytes(server.address, pattern(256 << 10)); });
    for (auto& client : clients) client.join();
    EXPECT_GT(host.counters().buffersRanOut, 0u);
}

class Witness final : public ChannelInboundHandler {
  public:
    explicit Witness(Promise<std::string>& told) : told_(told) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        story_ += "read " + std::string(message.get<Buffer>().view()) + "; ";
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        story_ += "error " + std::to_string(errorCodeOf(cause).value()) + "; ";
    }
    void channelInactive(ChannelHandlerContext&) override { told_.setValue(story_ + "inactive"); }

  private:
    Promise<std::string>& told_;
    std::string story_;
};

std::string storyOf(const std::function<void(BlockingPeer&)>& act) {
    const DescriptorGuard guard;
    Promise<std::string> told;
    Future<std::string> story = told.future();
    UringHost host;
    Server server(host, [&](Channel& channel) { channel.pipeline().addLast<Witness>(told); });
    BlockingPeer peer(server.address);
    act(peer);
    return story.awaitUntil(testDeadline()) ? story.get() : "nothing";
}

TEST_F(UringTransport, AResetByThePeerIsAnErrorThenInactive) {
    EXPECT_EQ(storyOf([](BlockingPeer& peer) { peer.reset(); }), "error " + std::to_string(ECONNRESET) + "; inactive");
}

TEST_F(UringTransport, ThePeersEndClosesTheChannel) {
    const std::string story = storyOf([](BlockingPeer& peer) {
        peer.send("bye");
        peer.endOutput();
        EXPECT_EQ(peer.receive(), "");
    });
    EXPECT_EQ(story, "read bye; inactive");
}

TEST_F(UringTransport, TheEndOfTheLoopClosesEveryConnection) {
    const DescriptorGuard guard;
    UringHost host;
    Server server(host, echo);
    std::vector<std::unique_ptr<BlockingPeer>> peers;
    for (int i = 0; i < 20; ++i) {
        peers.push_back(std::make_unique<BlockingPeer>(server.address));
        peers.back()->send("x");
        EXPECT_EQ(peers.back()->receive(), "x");
    }
    host.stop();
    for (auto& peer : peers) EXPECT_EQ(peer->receive(), "");
    EXPECT_TRUE(server.channel->closed());
}

TEST_F(UringTransport, ATimerEndsTheWaitAndIsNotEarly) {
    UringHost host;
    const auto begin = std::chrono::steady_clock::now();
    Promise<void> fired;
    Future<void> done = fired.future();
    host.loop().schedule([fired = std::move(fired)]() mutable { fired.setValue(); }, 3ms);
    ASSERT_TRUE(done.awaitUntil(testDeadline()));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 3ms);
}

TEST_F(UringTransport, NoWakeUpIsLostBetweenTwoLoops) {
    UringHost hosts[2];
    constexpr int rounds = 20'000;
    Promise<void> reached;
    Future<void> done = reached.future();
    std::atomic<int> count{0};  // passed back and forth by the tasks
    std::function<void()> pass = [&] {
        if (++count == rounds) {
            reached.setValue();
        } else {
            hosts[count.load() % 2].loop().execute([&] { pass(); });
        }
    };
    hosts[0].loop().execute([&] { pass(); });
    for (int before = -1; !done.awaitUntil(testDeadline());) {
        const int now = count;
        if (now == before) {
            ADD_FAILURE() << "stopped after " << now << " rounds";
            break;
        }
        before = now;
    }
    for (auto& host : hosts) host.stop();  // the last execute() has returned before either host is destroyed
}

// A submission queue without room takes several calls to submit everything.
TEST_F(UringTransport, ARingOfOneEntryServesAHundredConnections) {
    const DescriptorGuard guard;
    UringHost host({.entries = 1});
    Server server(host, echo);
    std::vector<std::unique_ptr<BlockingPeer>> peers;
    for (int i = 0; i < 100; ++i) peers.push_back(std::make_unique<BlockingPeer>(server.address));
    for (auto& peer : peers) peer->send("hello");
    for (auto& peer : peers) EXPECT_EQ(peer->receiveExactly(5), "hello");
}

// Polls that complete once, as the kernel ends them when it has no room for completions. That of the wake-up
// descriptor, which is never read, completes again as soon as it is submitted.
class OneShotPolls final : public UringCalls {
  public:
    int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept override {
        change(ring);
        return UringCalls::submitAndWait(ring, timeout);
    }
    int submitAndGetEvents(io_uring& ring) noexcept override {
        change(ring);
        return UringCalls::submitAndGetEvents(ring);
    }

  private:
    static void change(io_uring& ring) noexcept {
        for (unsigned at = ring.sq.sqe_head; at != ring.sq.sqe_tail; ++at) {
            io_uring_sqe& entry = ring.sq.sqes[at & *ring.sq.kring_mask];
            if (entry.opcode == IORING_OP_POLL_ADD) entry.len &= ~static_cast<unsigned>(IORING_POLL_ADD_MULTI);
        }
    }
};

TEST_F(UringTransport, ASignalThatCompletesWhileItIsCancelledIsNotWatchedAgain) {
    OneShotPolls calls;
    UringHost host({}, calls);
    host.inLoop([] {});
    host.stop();
}

TEST(UringOptionsTest, OutOfRangeIsRefusedWithWhatIsAccepted) {
    for (const UringOptions& wrong :
         {UringOptions{.entries = 0}, UringOptions{.entries = 32'769}, UringOptions{.smallBuffers = 0},
          UringOptions{.smallBuffers = 3}, UringOptions{.largeBuffers = 65'536}}) {
        try {
            UringIoHandler handler(wrong);
            ADD_FAILURE() << "accepted";
        } catch (const std::invalid_argument& refused) {
            EXPECT_NE(std::string(refused.what()).find("accepted: "), std::string::npos) << refused.what();
        }
    }
}

}  // namespace
}  // namespace weft::test
