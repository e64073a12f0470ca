// TaskScope: its children, where they run, their results and its joins. What ends a scope early:
// task_scope_failure_test.cpp.
#include <weft/scheduler/task_scope.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "scheduler/task_scope_bench.hpp"
#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::errorOf;
using test::twoCarriers;

TEST(TaskScope, JoinsItsChildrenAndHandsOutTheirResults) {
    CarrierGroup group(twoCarriers());
    group
        .spawn([&] {
            int left = 0;
            TaskScope scope;
            scope.spawn([&] { left = 1; });
            auto right = scope.spawnOn(group.carrier(1), [] { return std::make_unique<int>(2); });
            auto nothing = scope.spawn([] {});
            scope.join();
            EXPECT_EQ(scope.running(), 0u);
            EXPECT_EQ(left, 1);
            EXPECT_TRUE(right.done());
            EXPECT_EQ(*right.get(), 2);
            nothing.get();
            scope.spawn([&] { left = 3; });  // a second spawn
            scope.join();
            EXPECT_EQ(left, 3);
        })
        .join();
}

TEST(TaskScope, ChildrenRunOnTheParentsCarrierOrWhereTheyAreSpawned) {
    CarrierGroup group(twoCarriers());
    group.carrier(1)
        .spawn([&] {
            TaskScope scope;
            auto here = scope.spawn([] { return thisFiber::carrier()->index(); });
            auto there = scope.spawnOn(group.carrier(0), [] { return thisFiber::carrier()->index(); });
            scope.join();
            EXPECT_EQ(here.get(), 1u);
            EXPECT_EQ(there.get(), 0u);
        })
        .join();
}

TEST(TaskScope, OfAPlainThreadJoinsToo) {
    CarrierGroup group(twoCarriers());
    int sum = 0;
    TaskScope scope;
    for (unsigned i = 0; i < 2; ++i) {
        auto part = scope.spawnOn(group.carrier(i), [i] { return static_cast<int>(i) + 1; });
        sum += part.get();
    }
    scope.join();
    EXPECT_EQ(sum, 3);
}

// The newest child is cancelled last, so the others give its spawn the time to fail in between.
TEST(TaskScope, ACancellationBesideSpawnsThatFailTouchesNoneOfTheirFibers) {
    CarrierGroup group(twoCarriers());
    CarrierGroup stopped(twoCarriers());
    ASSERT_TRUE(stopped.shutdown(std::chrono::minutes(1)));
    for (int i = 0; i < 1'000; ++i) {
        TaskScope scope;
        for (int child = 0; child < 20; ++child) {
            scope.spawnOn(group.carrier(0), [] { thisFiber::sleepFor(std::chrono::hours(1)); });
        }
        std::atomic<bool> done{false};
        std::thread canceller([&] {
            scope.cancel();
            done.store(true, std::memory_order_release);
        });
        while (!done.load(std::memory_order_acquire)) {
            EXPECT_THROW(scope.spawnOn(stopped.carrier(0), [] {}), SystemError);
        }
        canceller.join();
    }
}

TEST(TaskScope, AJoinGivesUpAtItsDeadlineAndTheChildrenRunOn) {
    CarrierGroup group(test::oneCarrier());
    group
        .spawn([] {
            Promise<void> open;
            TaskScope scope;
            auto child = scope.spawn([gate = open.future()] { gate.await(); });
            EXPECT_FALSE(scope.joinUntil(Clock::steady().now()));
            EXPECT_FALSE(scope.joinUntil(Clock::steady().now() + milliseconds(1)));
            EXPECT_FALSE(child.done());
            open.setValue();
            EXPECT_TRUE(scope.joinUntil(never));
            EXPECT_EQ(errorOf([&] { child.get(); }), "");
        })
        .join();
}

TEST(TaskScope, AChildIsGoneWithItsClosureAndItsDroppedResultBeforeTheScopeIs) {
    struct Mark {
        explicit Mark(std::atomic<int>& count) : count(&count) { ++count; }
        Mark(const Mark& other) : count(other.count) { ++*count; }
        ~Mark() { --*count; }
        std::atomic<int>* count;
    };
    CarrierGroup group(twoCarriers());
    group
        .spawn([&] {
            for (int round = 0; round < 500; ++round) {
                std::atomic<int> marks{0};
                {
                    TaskScope scope;
                    scope.spawnOn(group.carrier(round % 2), [mark = Mark(marks)] { return mark; });
                    if (round % 3 == 0) scope.join();
                }
                EXPECT_EQ(marks, 0);
            }
        })
        .join();
}

TEST(TaskScope, ChildrenMaySpawnSiblingsAndCancelThemAll) {
    CarrierGroup group(twoCarriers());
    group
        .spawn([&] {
            std::atomic<int> ended{0};
            TaskScope scope;
            scope.spawn([&] {
                for (unsigned i = 0; i < 10; ++i) {
                    scope.spawnOn(group.carrier(i % 2), [&] {
                        ErrorCode error;
                        thisFiber::sleepFor(hours(1), error);
                        ++ended;
                    });
                }
                scope.cancel();
            });
            scope.join();
            EXPECT_EQ(ended, 10);
        })
        .join();
}

TEST(TaskScope, ARefusedSpawnLeavesNoChild) {
    CarrierGroup ending(test::oneCarrier());
    EXPECT_TRUE(ending.shutdown(seconds(60)));
    CarrierGroup group(test::oneCarrier());
    group
        .spawn([&] {
            TaskScope scope;
            EXPECT_EQ(errorOf([&] { scope.spawnOn(ending.carrier(0), [] {}); }), "aborted");
            EXPECT_EQ(scope.running(), 0u);
            scope.join();
        })
        .join();
}

TEST(TaskScope, IsRefusedWhereNothingMayBlock) {
    CarrierGroup group(test::oneCarrier());
    group
        .spawn([] {
            const NonSuspendingScope dispatch;
            EXPECT_THROW(TaskScope scope, BlockingOperationException);
        })
        .join();
}

TEST(TaskScope, ScopesNest) {
    CarrierGroup group(twoCarriers());
    std::atomic<int> waiting{0};
    std::atomic<int> ended{0};
    auto parent = group.spawn([&] {
        TaskScope outer;
        for (unsigned i = 0; i < 4; ++i) {
            outer.spawnOn(group.carrier(i % 2), [&] {
                TaskScope inner;
                for (int j = 0; j < 4; ++j) {
                    inner.spawn([&] {
                        ++waiting;
                        ErrorCode error;
                        thisFiber::sleepFor(hours(1), error);
                        ++ended;
                    });
                }
                inner.join();
            });
        }
        outer.join();
    });
    while (waiting < 16) std::this_thread::yield();
    parent.cancel();
    EXPECT_EQ(errorOf([&] { parent.join(); }), "aborted");
    EXPECT_EQ(ended, 16);
}

// Both carriers spawn, end, cancel and join at the same time.
TEST(TaskScope, ManyChildrenEndWhileTheyAreCancelled) {
    CarrierGroup group(twoCarriers());
    group
        .spawn([&] {
            for (int round = 0; round < 100; ++round) {
                std::atomic<int> running{0};
                {
                    TaskScope scope;
                    for (unsigned i = 0; i < 20; ++i) {
                        scope.spawnOn(group.carrier(i % 2), [&, i] {
                            ++running;
                            ErrorCode error;
                            if (i % 3 != 0) thisFiber::sleepFor(i % 3 == 1 ? hours(1) : milliseconds(1), error);
                            if (i == 6) scope.cancel();
                            --running;
                        });
                    }
                    if (round % 2 == 0) scope.join();
                }
                EXPECT_EQ(running, 0);
            }
        })
        .join();
}

}  // namespace
}  // namespace weft
