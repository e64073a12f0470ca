#include <weft/scheduler/sync/wait_group.hpp>

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/non_suspending_scope.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

TEST(WaitGroup, WaitsUntilAllIsDone) {
    CarrierGroup group(carriers(2));
    WaitGroup work;
    std::vector<int> results(20);
    work.add(20);
    for (std::size_t i = 0; i < results.size(); ++i) {
        group.carrier(i % 2)
            .spawn([&, i] {
                thisFiber::yield();
                results[i] = 1;
                work.done();
            })
            .detach();
    }
    work.wait();
    EXPECT_EQ(work.count(), 0u);
    EXPECT_EQ(results, std::vector<int>(20, 1));
}

TEST(WaitGroup, WithNothingToDoTheWaitEndsAtOnce) {
    CarrierGroup group(carriers(1));
    WaitGroup work;
    work.wait();
    EXPECT_TRUE(work.waitUntil(soon()));
    work.add();
    group
        .spawn([&] {
            const NonSuspendingScope scope;
            EXPECT_THROW(work.wait(), BlockingOperationException);
            work.done();
            work.wait();
        })
        .join();
}

TEST(WaitGroup, EveryWaiterIsWokenAndOneMayGiveUp) {
    CarrierGroup group(carriers(1));
    WaitGroup work;
    work.add(2);
    auto first = group.spawn([&] { work.wait(); });
    auto second = group.spawn([&] { work.wait(); });
    auto cancelled = group.spawn([&] { work.wait(); });
    awaitWaiters(work, 3);
    cancelled.cancel();
    EXPECT_EQ(outcome([&] { cancelled.join(); }), operationAborted());
    EXPECT_FALSE(work.waitUntil(soon()));
    EXPECT_EQ(work.waiters(), 2u);
    work.done();
    EXPECT_EQ(work.waiters(), 2u);
    work.done();
    first.join();
    second.join();
}

// The waiter's stack holds the group; done() may still be inside it when the wait ends.
TEST(WaitGroup, TheWaiterMayDestroyIt) {
    CarrierGroup group(carriers(2));
    for (int round = 0; round < 500; ++round) {
        auto waiter = group.carrier(0).spawn([&group] {
            std::optional<WaitGroup> work(std::in_place);
            work->add(2);
            for (int i = 0; i < 2; ++i) group.carrier(1).spawn([&work] { work->done(); }).detach();
            work->wait();
            work.reset();
        });
        waiter.join();
    }
}

TEST(WaitGroup, ACountBelowZeroOrAboveTheMaximumFailsAnAssertion) {
    WaitGroup work;
    EXPECT_DEATH(work.done(), "zero");
    work.add(WaitGroup::most);
    EXPECT_EQ(work.count(), WaitGroup::most);
    EXPECT_DEATH(work.add(), "most");
}

}  // namespace
}  // namespace weft::sync
