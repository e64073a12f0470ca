// How much receive memory the kernel gets: in proportion to the traffic.
#include <atomic>
#include <chrono>
#include <deque>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <liburing.h>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/pipeline/channel.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/loopback_server.hpp"
#include "transports/uring_host.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t small = UringIoHandler::smallBytes, large = UringIoHandler::largeBytes;
constexpr std::uint64_t atRest = 16 * small;

// In a hurry, waits take a hundredth of their time, so that a loop becomes idle sooner.
class HastyUringCalls final : public UringCalls {
  public:
    void hurry(bool on) { hurries_ = on; }
    bool waitsWithoutLimit() const { return waitsWithoutLimit_; }
    int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept override {
        if (timeout == nullptr) {
            waitsWithoutLimit_ = true;
            const int result = UringCalls::submitAndWait(ring, nullptr);
            waitsWithoutLimit_ = false;
            return result;
        }
        if (!hurries_) return UringCalls::submitAndWait(ring, timeout);
        __kernel_timespec less{};
        less.tv_nsec = (timeout->tv_sec * 1'000'000'000 + timeout->tv_nsec) / 100;
        return UringCalls::submitAndWait(ring, &less);
    }

  private:
    std::atomic<bool> hurries_{false}, waitsWithoutLimit_{false};
};

class UringBuffersTest : public UringTransport {
  protected:
    // Many peers send at once, before the loop polls.
    static void sendFromAll(UringHost& host, std::deque<BlockingPeer>& peers) {
        for (BlockingPeer& peer : peers) peer.send("x");  // from here on each is a channel
        for (BlockingPeer& peer : peers) EXPECT_EQ(peer.receive(), "x");
        host.inLoop([&] {
            for (BlockingPeer& peer : peers) peer.send("y");
        });
        for (BlockingPeer& peer : peers) EXPECT_EQ(peer.receive(), "y");
    }
    void awaitMoreInput(UringHost& host) {
        calls.hurry(true);
        host.inLoop([] {});  // ends a wait that began without hurry
        const Deadline end = testDeadline();
        while (!calls.waitsWithoutLimit() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        EXPECT_EQ(host.counters().bufferBytes, atRest);
        calls.hurry(false);
    }
    HastyUringCalls calls;
};

TEST_F(UringBuffersTest, TheyGrowForManyPeersAndShrinkWhenTheLoopIsIdle) {
    const DescriptorGuard guard;
    UringHost host({}, calls);
    Server server(host, echo);
    EXPECT_EQ(host.counters().bufferBytes, atRest);
    std::deque<BlockingPeer> peers;
    for (int i = 0; i < 100; ++i) peers.emplace_back(server.address);
    for (int burst = 0; burst < 3; ++burst) {
        sendFromAll(host, peers);
        const UringCounters busy = host.counters();
        EXPECT_GT(busy.buffersRanOut, 0u);
        EXPECT_GE(busy.bufferBytes, 2 * atRest);
        EXPECT_LE(busy.bufferBytes, 256 * small);
        awaitMoreInput(host);
    }
    std::int64_t blocks = 0;
    host.inLoop([&] { blocks = BufferPool::liveBlocks(); });
    EXPECT_EQ(blocks, 16 + 1) << "blocks are alive that are neither the kernel's nor a channel's, nor for output";
}

TEST_F(UringBuffersTest, TheyGrowNoFurtherThanTheirOptionSays) {
    const DescriptorGuard guard;
    UringHost host({.smallBuffers = 32}, calls);
    Server server(host, echo);
    std::deque<BlockingPeer> peers;
    for (int i = 0; i < 100; ++i) peers.emplace_back(server.address);
    for (int burst = 0; burst < 5; ++burst) sendFromAll(host, peers);
    EXPECT_EQ(host.counters().bufferBytes, 32 * small);
}

TEST_F(UringBuffersTest, LargeOnesAreThereOnlyWhileThereAreLargeReads) {
    const DescriptorGuard guard;
    UringHost host({}, calls);
    Server server(host, echo);
    BlockingPeer peer(server.address);
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 20; ++i) {
            peer.send(std::string(large, 'x'));
            for (std::size_t left = large; left > 0;) left -= peer.receive().size();
        }
        EXPECT_GE(host.counters().bufferBytes, atRest + 2 * large);
        awaitMoreInput(host);
    }
}

}  // namespace
}  // namespace weft::test
