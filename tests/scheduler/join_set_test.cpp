// JoinSet: results come in the order in which the children end, and no child outlives its set.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include <weft/scheduler/cancel_scope.hpp>
#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/deadline_scope.hpp>
#include <weft/scheduler/join_set.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/sync/semaphore.hpp>

#include "scheduler/sync/fibers.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using std::chrono::hours;
using sync::carriers;
using sync::outcome;
using sync::soon;

TEST(JoinSet, GivesTheResultsInTheOrderOfTheirEnd) {
    CarrierGroup group(carriers(1));
    group
        .spawn([] {
            sync::Semaphore first(0);
            sync::Semaphore second(0);
            JoinSet<int> set;
            set.spawn([&] {
                second.acquire();
                return 1;
            });
            set.spawn([&] {
                first.acquire();
                second.release();
                return 2;
            });
            set.spawn([&] {
                first.release();
                return 3;
            });
            EXPECT_EQ(set.joinNext(), 3);
            EXPECT_EQ(set.joinNext(), 2);
            EXPECT_EQ(set.joinNext(), 1);
            EXPECT_EQ(set.joinNext(), std::nullopt);
            set.spawn([] { return 4; });
            EXPECT_EQ(set.joinNext(), 4);
        })
        .join();
}

TEST(JoinSet, HandsOutExceptionsOneByOne) {
    CarrierGroup group(carriers(1));
    group
        .spawn([] {
            JoinSet<std::unique_ptr<int>> set;
            set.spawn([]() -> std::unique_ptr<int> { throw std::out_of_range("x"); });
            EXPECT_THROW(set.joinNext(), std::out_of_range);
            set.spawn([] { return std::make_unique<int>(5); });
            EXPECT_EQ(**set.joinNext(), 5);
            JoinSet<void> nothing;
            nothing.spawn([] {});
            EXPECT_TRUE(nothing.joinNext());
            nothing.spawn([] { throw std::out_of_range("x"); });
            EXPECT_TRUE(nothing.nextOutcome()->failed());
            EXPECT_FALSE(nothing.joinNext());
        })
        .join();
}

TEST(JoinSet, CancelsItsChildrenAndWaitsForThemInItsDestructor) {
    CarrierGroup group(carriers(2));
    group
        .spawn([&] {
            std::atomic<int> ended{0};
            {
                JoinSet<int> set;
                for (unsigned i = 0; i < 10; ++i) {
                    set.spawnOn(group.carrier(i % 2), [&] {
                        ErrorCode error;
                        thisFiber::sleepFor(hours(1), error);
                        thisFiber::yield();
                        ++ended;
                        return 0;
                    });
                }
                set.spawn([] { return 1; });
                EXPECT_EQ(set.joinNext(), 1);
            }
            EXPECT_EQ(ended, 10);
        })
        .join();
}

TEST(JoinSet, ShutdownEndsItForGood) {
    CarrierGroup group(carriers(1));
    group
        .spawn([] {
            JoinSet<void> set;
            const auto sleep = [] { thisFiber::sleepFor(hours(1)); };
            set.spawn(sleep);
            set.shutdown();
            EXPECT_EQ(set.running(), 0u);
            EXPECT_FALSE(set.joinNext());
            set.spawn(sleep);
            EXPECT_EQ(outcome([&] { static_cast<void>(set.joinNext()); }), operationAborted());
        })
        .join();
}

TEST(JoinSet, ChildrenMayStartMoreChildren) {
    CarrierGroup group(carriers(2));
    group
        .spawn([&] {
            JoinSet<int> set;
            std::function<int(int)> spawnDown = [&](int depth) {
                if (depth > 0) set.spawnOn(group.carrier(depth % 2), [&, depth] { return spawnDown(depth - 1); });
                return depth;
            };
            set.spawn([&] { return spawnDown(100); });
            int sum = 0;
            while (const auto depth = set.joinNext()) sum += *depth;
            EXPECT_EQ(sum, 5050);
        })
        .join();
}

TEST(JoinSet, ACancelledCallerLeavesTheChildrenRunning) {
    CarrierGroup group(carriers(1));
    sync::Semaphore permits(0);
    auto fiber = group.spawn([&] {
        JoinSet<int> set;
        set.spawn([&] {
            permits.acquire();
            return 1;
        });
        EXPECT_EQ(outcome([&] { static_cast<void>(set.joinNext()); }), operationAborted());
        EXPECT_EQ(set.running(), 1u);
        permits.release();
        CancellationShield shield;
        EXPECT_EQ(set.joinNext(), 1);
    });
    sync::awaitWaiters(permits, 1);
    fiber.cancel();
    fiber.join();
}

TEST(JoinSet, HasTheDeadlineAndTheCancelScopesAroundIt) {
    CarrierGroup group(carriers(2));
    group
        .spawn([&] {
            EXPECT_EQ(outcome([&] {
                          timeout(soon(), [&] {
                              JoinSet<void> set;
                              set.spawnOn(group.carrier(1), [] { thisFiber::sleepFor(hours(1)); });
                              static_cast<void>(set.joinNext());
                          });
                      }),
                      timedOut());
            CancelSource source;
            CancelScope scope(source.token());
            JoinSet<void> set;
            set.spawnOn(group.carrier(1), [] { thisFiber::sleepFor(hours(1)); });
            source.cancel();
            EXPECT_EQ(outcome([&] { static_cast<void>(set.joinNext()); }), operationAborted());
        })
        .join();
}

TEST(JoinSet, TakesManyResultsFromTwoCarriers) {
    CarrierGroup group(carriers(2));
    group
        .spawn([&] {
            JoinSet<unsigned> set;
            for (unsigned i = 0; i < sync::manyFibers; ++i) set.spawnOn(group.carrier(i % 2), [i] { return i; });
            std::vector<bool> seen(sync::manyFibers);
            while (const auto value = set.joinNext()) seen[*value] = true;
            EXPECT_EQ(std::count(seen.begin(), seen.end(), true), std::ptrdiff_t{sync::manyFibers});
        })
        .join();
}

TEST(JoinSet, WorksOnAPlainThreadAndNotWhereNothingMayBlock) {
    CarrierGroup group(carriers(1));
    JoinSet<int> set;
    set.spawnOn(group.carrier(0), [] { return 1; });
    EXPECT_EQ(set.joinNext(), 1);
    group
        .spawn([] {
            NonSuspendingScope dispatch;
            EXPECT_THROW(JoinSet<int>(), BlockingOperationException);
        })
        .join();
}

TEST(JoinSet, ExceptionsThatNothingTakesAreLogged) {
    CarrierGroup group(carriers(1));
    const test::LogCapture captured;
    group
        .spawn([] {
            JoinSet<int> set;
            set.spawn([]() -> int { throw std::runtime_error("the first"); });
            set.spawn([]() -> int { throw std::runtime_error("the second"); });
            set.spawn([] { return thisFiber::sleepFor(std::chrono::hours(1)), 1; });
            EXPECT_THROW(static_cast<void>(set.joinNext()), std::runtime_error);
        })
        .join();
    EXPECT_EQ(captured.count("JoinSet"), 1) << captured.text();
    EXPECT_EQ(captured.countAt(LogLevel::warning, "JoinSet", "the second"), 1) << captured.text();
}

}  // namespace
}  // namespace weft
