// Where AcceptMode::single places connections when its workers are not equally busy.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "framework/bench.hpp"

namespace weft::test {
namespace {

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
