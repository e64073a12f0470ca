// Where AcceptMode::single places connections.
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "framework/bench.hpp"

namespace weft::test {
namespace {

// Keeps each carrier of a group in one slice with the same number of fibers waiting, so that their loads are equal and
// do not change.
class LongSlices {
  public:
    explicit LongSlices(EventLoopGroup& group) {
        for (std::size_t i = 0; i < group.size(); ++i) {
            Carrier& carrier = group.carriers().carrier(i);
            fibers_.push_back(carrier.spawn([this] {
                ++begun_;
                released_.wait(false);
            }));
            while (begun_ <= i) std::this_thread::yield();
            while (carrier.load() < Carrier::aLongSlice) std::this_thread::yield();
            while (carrier.load() < Carrier::aLongSlice + 8) fibers_.push_back(carrier.spawn([] {}));
            EXPECT_EQ(carrier.load(), Carrier::aLongSlice + 8);
        }
    }
    ~LongSlices() {
        released_ = true;
        released_.notify_all();
        for (auto& fiber : fibers_) fiber.join();
    }

  private:
    std::atomic<std::size_t> begun_{0};
    std::atomic<bool> released_{false};
    std::vector<JoinHandle<void>> fibers_;
};

// Notes the loop of each connection that a listener accepts, in order.
class AcceptedLoops {
  public:
    auto handler() {
        return [this](Channel& listener) { listener.pipeline().addLast<Note>(*this); };
    }
    std::vector<EventLoop*> seen() const {
        std::lock_guard held(lock_);
        return loops_;
    }

  private:
    struct Note final : ChannelInboundHandler {
        explicit Note(AcceptedLoops& owner) : owner(owner) {}
        void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
            {
                std::lock_guard held(owner.lock_);
                owner.loops_.push_back(&message.get<ChannelRef>()->loop());
            }
            ctx.fireChannelRead(std::move(message));
        }
        AcceptedLoops& owner;
    };

    mutable std::mutex lock_;
    std::vector<EventLoop*> loops_;
};

TEST(AcceptPlacementTest, B1_WorkersThatAreEquallyBusyGetConnectionsInTurn) {
    AcceptedLoops accepted;
    EventLoopGroup boss(groupOptions(1));
    EventLoopGroupOptions options = groupOptions(3);
    options.workStealing = false;
    EventLoopGroup workers(options);
    ServerBootstrap bootstrap(boss, workers);
    bootstrap.handler(accepted.handler()).childHandler([](Channel&) {});
    const Server server = bootstrap.bind(anyPort).sync().channel();
    const LongSlices slices(workers);
    std::vector<EventLoop*> inTurn;
    std::vector<std::unique_ptr<BlockingPeer>> peers;
    for (std::size_t i = 0; i < 9; ++i) {
        inTurn.push_back(&workers.loop(i % 3));
        peers.push_back(std::make_unique<BlockingPeer>(server.localAddress()));
    }
    EXPECT_TRUE(eventually([&] { return accepted.seen().size() == inTurn.size(); }));
    EXPECT_EQ(accepted.seen(), inTurn);
}

TEST(AcceptPlacementTest, ConnectionsGoPastAWorkerWithALongQueue) {
    std::atomic<bool> release{false};
    std::atomic<int> waiting{0};
    EventLoopGroup boss(groupOptions(1));
    EventLoopGroupOptions options = groupOptions(2);
    options.workStealing = false;
    options.yieldBudget = std::chrono::microseconds(1);  // the carrier checks the queue after each slice
    EventLoopGroup workers(options);
    ServerBootstrap bootstrap(boss, workers);
    bootstrap.childHandler([](Channel& channel) { channel.pipeline().addLast<Echo>(); });
    Server server = bootstrap.bind("127.0.0.1", 0).sync().channel();
    Carrier& busy = workers.carriers().carrier(0);
    busy.spawn([&] {
            for (int i = 0; i < 100; ++i) {
                busy.spawnDetached([&] {
                    ++waiting;
                    while (!release) std::this_thread::yield();
                });
            }
        })
        .join();
    while (waiting == 0) std::this_thread::yield();
    ASSERT_EQ(busy.queuedFibers(), 100u);
    for (int i = 0; i < 8; ++i) {
        BlockingPeer peer(server.localAddress());
        EXPECT_EQ(echoed(peer, "hello"), "hello");  // the busy worker's loop gets no turn
    }
    release = true;
}

}  // namespace
}  // namespace weft::test
