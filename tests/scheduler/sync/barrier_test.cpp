#include <weft/scheduler/sync/barrier.hpp>

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

TEST(Barrier, EachRoundHasOneLeaderAndAllPartiesArePast) {
    CarrierGroup group(carriers(2));
    constexpr int parties = 4;
    constexpr int rounds = 50;
    Barrier barrier(parties);
    std::atomic<int> arrived{0};
    std::atomic<int> leaders{0};
    std::vector<JoinHandle<void>> fibers;
    for (std::size_t i = 0; i < parties; ++i) {
        fibers.push_back(group.carrier(i % 2).spawn([&] {
            for (int round = 1; round <= rounds; ++round) {
                ++arrived;
                if (barrier.wait()) ++leaders;
                EXPECT_GE(arrived, parties * round);
            }
        }));
    }
    for (auto& fiber : fibers) fiber.join();
    EXPECT_EQ(leaders, rounds);
    EXPECT_EQ(barrier.waiters(), 0u);
}

TEST(Barrier, OnePartyNeverWaits) {
    Barrier barrier(1);
    EXPECT_TRUE(barrier.wait());
    EXPECT_TRUE(barrier.wait());
    EXPECT_DEATH(Barrier(0), "at least one");
}

TEST(Barrier, AWaitThatIsCancelledOrTimesOutDoesNotCount) {
    CarrierGroup group(carriers(1));
    Barrier barrier(2);
    auto cancelled = group.spawn([&] { barrier.wait(); });
    awaitWaiters(barrier, 1);
    cancelled.cancel();
    EXPECT_EQ(outcome([&] { cancelled.join(); }), operationAborted());
    EXPECT_EQ(barrier.waiters(), 0u);
    ErrorCode error;
    EXPECT_FALSE(barrier.waitUntil(soon(), error));
    EXPECT_EQ(error, timedOut());
    auto other = group.spawn([&] { return barrier.wait(); });
    awaitWaiters(barrier, 1);
    EXPECT_TRUE(barrier.wait());
    EXPECT_FALSE(other.join());
}

TEST(Barrier, ACancellationThatComesAfterTheLastPartyDoesNotMatter) {
    CarrierGroup group(carriers(1));
    Barrier barrier(2);
    auto waiting = group.spawn([&] {
        ErrorCode error;
        barrier.wait(error);
        return error;
    });
    awaitWaiters(barrier, 1);
    group
        .spawn([&] {
            waiting.cancel();
            EXPECT_TRUE(barrier.wait());  // the other party is cancelled, but still counted
        })
        .join();
    EXPECT_EQ(waiting.join(), ErrorCode());
}

}  // namespace
}  // namespace weft::sync
