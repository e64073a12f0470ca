// A ring belongs to one thread. Fibers of other carriers may use its channels: the loop executes their requests.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/carrier_group.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/loopback_server.hpp"
#include "transports/uring_host.hpp"

namespace weft::test {
namespace {

// Counts calls on a ring from its own thread and from other threads.
class OneThreadUringCalls final : public UringCalls {
  public:
    int setup(unsigned entries, io_uring& ring, io_uring_params& parameters) noexcept override {
        owner_ = std::this_thread::get_id();
        return UringCalls::setup(entries, ring, parameters);
    }
    int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept override {
        note();
        return UringCalls::submitAndWait(ring, timeout);
    }
    int submitAndGetEvents(io_uring& ring) noexcept override {
        note();
        return UringCalls::submitAndGetEvents(ring);
    }
    unsigned own() const { return own_; }
    unsigned foreign() const { return foreign_; }

  private:
    void note() noexcept { ++(std::this_thread::get_id() == owner_ ? own_ : foreign_); }
    std::atomic<std::thread::id> owner_;
    std::atomic<unsigned> own_{0}, foreign_{0};
};

// Answers from fibers of another group, which also switch reading off and on, and close at the end.
class ForeignEcho final : public ChannelInboundHandler {
  public:
    explicit ForeignEcho(CarrierGroup& workers) : workers_(workers) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        workers_.carrier(0).spawnDetached(
            [channel = ChannelRef(ctx.channel()), bytes = message.take<Buffer>()]() mutable {
                channel->setOption(ChannelOption::AUTO_READ, false);
                const bool isLast = bytes.view().back() == '!';
                ChannelPromise written = channel->newPromise();
                channel->writeAndFlush(std::move(bytes), written);
                EXPECT_TRUE(written.future().await().success());
                channel->setOption(ChannelOption::AUTO_READ, true);
                if (isLast) channel->close();
            });
    }

  private:
    CarrierGroup& workers_;
};

using UringForeign = UringTransport;

TEST_F(UringForeign, FibersOfOtherCarriersUseItsChannelsAndNotItsRing) {
    const DescriptorGuard guard;
    OneThreadUringCalls calls;
    {
        CarrierGroup workers(carrierOptions("workers", 1));
        UringHost host({}, calls);
        Server server(host, [&](Channel& channel) { channel.pipeline().addLast<ForeignEcho>(workers); });
        BlockingPeer peer(server.address);
        for (int i = 0; i < 500; ++i) {
            const std::string text = std::to_string(i);
            peer.send(text);
            EXPECT_EQ(peer.receiveExactly(text.size()), text);
        }
        peer.send("the last!");
        EXPECT_EQ(peer.receiveExactly(9), "the last!");
        EXPECT_EQ(peer.receive(), "");
        EXPECT_TRUE(workers.shutdown(std::chrono::seconds(20)));  // their fibers hold the channel
    }
    EXPECT_GT(calls.own(), 0u);
    EXPECT_EQ(calls.foreign(), 0u);
}

}  // namespace
}  // namespace weft::test
