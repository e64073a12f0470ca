// CancelScope: what a cancellation reaches, and what it does not.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include <weft/scheduler/cancel_scope.hpp>
#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/deadline_scope.hpp>
#include <weft/scheduler/sync/semaphore.hpp>
#include <weft/scheduler/task_scope.hpp>

#include "scheduler/sync/fibers.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using sync::carriers;
using sync::outcome;
using sync::soon;

void sleepLong() {
    thisFiber::sleepFor(hours(1));
}

TEST(CancelScope, EndsTheCurrentWaitAndEachLaterOneInTheScopeOnly) {
    CarrierGroup group(carriers(1));
    CancelSource source;
    sync::Semaphore permits(0);
    auto fiber = group.spawn([&] {
        {
            CancelScope scope(source.token());
            EXPECT_EQ(outcome([&] { permits.acquire(); }), operationAborted());
            EXPECT_EQ(outcome(sleepLong), operationAborted());
            EXPECT_TRUE(scope.cancelled());
            EXPECT_TRUE(thisFiber::cancelRequested());
        }
        EXPECT_FALSE(thisFiber::cancelRequested());
        EXPECT_EQ(outcome([] { thisFiber::sleepFor(milliseconds(1)); }), ErrorCode());
    });
    sync::awaitWaiters(permits, 1);
    source.cancel();
    fiber.join();
}

TEST(CancelScope, WorksOnAPlainThread) {
    CancelSource source;
    sync::Semaphore permits(0);
    std::thread thread([&] {
        {
            CancelScope scope(source.token());
            EXPECT_EQ(outcome([&] { permits.acquire(); }), operationAborted());
            EXPECT_EQ(outcome(sleepLong), operationAborted());
        }
        EXPECT_EQ(outcome([] { thisFiber::sleepFor(milliseconds(1)); }), ErrorCode());
    });
    sync::awaitWaiters(permits, 1);
    source.cancel();
    thread.join();
}

TEST(CancelScope, OfACancelledTokenEndsTheFirstWait) {
    CarrierGroup group(carriers(1));
    CancelSource source;
    source.cancel();
    std::stop_source stop;
    stop.request_stop();
    group
        .spawn([&] {
            {
                CancelScope scope(source.token());
                EXPECT_EQ(outcome(sleepLong), operationAborted());
            }
            {
                CancelScope scope(stop.get_token());
                EXPECT_EQ(outcome(sleepLong), operationAborted());
            }
            CancelScope scope{CancelToken()};
            EXPECT_EQ(outcome([] { thisFiber::sleepFor(milliseconds(1)); }), ErrorCode());
        })
        .join();
}

TEST(CancelScope, OfAStopTokenEndsTheWait) {
    CarrierGroup group(carriers(1));
    std::stop_source stop;
    sync::Semaphore permits(0);
    auto fiber = group.spawn([&] {
        CancelScope scope(stop.get_token());
        return outcome([&] { permits.acquire(); });
    });
    sync::awaitWaiters(permits, 1);
    stop.request_stop();
    EXPECT_EQ(fiber.join(), operationAborted());
}

TEST(CancelScope, AnInnerOneLeavesTheOuterOneInForce) {
    CarrierGroup group(carriers(1));
    group
        .spawn([] {
            CancelSource outer;
            CancelSource inner;
            CancelScope outerScope(outer.token());
            {
                CancelScope innerScope(inner.token());
                inner.cancel();
                EXPECT_EQ(outcome(sleepLong), operationAborted());
                EXPECT_FALSE(outerScope.cancelled());
            }
            EXPECT_EQ(outcome([] { thisFiber::sleepFor(milliseconds(1)); }), ErrorCode());
            {
                CancelScope innerScope(CancelSource().token());
                outer.cancel();
                EXPECT_TRUE(innerScope.cancelled());
                EXPECT_EQ(outcome(sleepLong), operationAborted());
            }
            EXPECT_EQ(outcome(sleepLong), operationAborted());
            CancelScope late(CancelSource().token());
            EXPECT_TRUE(late.cancelled());
        })
        .join();
}

TEST(CancelScope, AShieldDefersItsCancellation) {
    CarrierGroup group(carriers(1));
    CancelSource source;
    sync::Semaphore permits(0);
    auto fiber = group.spawn([&] {
        CancelScope scope(source.token());
        {
            CancellationShield shield;
            EXPECT_EQ(outcome([&] { permits.acquire(); }), ErrorCode());
        }
        return outcome(sleepLong);
    });
    sync::awaitWaiters(permits, 1);
    source.cancel();
    permits.release();
    EXPECT_EQ(fiber.join(), operationAborted());
}

TEST(CancelScope, ATimeoutInsideDoesNotTakeItsCancellationForAnExpiry) {
    CarrierGroup group(carriers(1));
    group
        .spawn([] {
            CancelSource source;
            source.cancel();
            CancelScope scope(source.token());
            EXPECT_EQ(outcome([] { timeout(Deadline::min(), sleepLong); }), operationAborted());
        })
        .join();
}

TEST(CancelScope, CancelsTheChildrenOfItsTaskScopesAndTheirChildren) {
    CarrierGroup group(carriers(2));
    CancelSource source;
    sync::Semaphore permits(0);
    auto fiber = group.spawn([&] {
        CancelScope scope(source.token());
        TaskScope tasks;
        tasks.spawnOn(group.carrier(1), [&] {
            TaskScope inner;
            const CancellationShield shield;  // so that only the scope can reach the grandchild
            inner.spawnOn(group.carrier(0), [&] { permits.acquire(); });
            EXPECT_EQ(outcome([&] { inner.join(); }), operationAborted());
            throw SystemError(operationAborted());
        });
        return outcome([&] { tasks.join(); });
    });
    sync::awaitWaiters(permits, 1);
    source.cancel();
    EXPECT_EQ(fiber.join(), operationAborted());
}

// Holds up a cancellation on its way through a scope until it is opened.
struct Gate final : detail::CancelNode {
    Gate() noexcept : detail::CancelNode(&Gate::call) {}
    static void call(detail::CancelNode& node, std::uint64_t) noexcept { static_cast<Gate&>(node).opened.wait(false); }
    void open() noexcept {
        opened = true;
        opened.notify_one();
    }
    std::atomic<bool> opened{false};
};

// The scopes of grandchildren are cancelled before those of children.
TEST(CancelScope, AChildThatEndsBeforeItsOwnScopeIsReachedCountsAsInterrupted) {
    CarrierGroup group(carriers(1));
    CancelSource source;
    sync::Semaphore permits(0);
    Gate gate;
    auto parent = group.spawn([&] {
        CancelScope scope(source.token());
        TaskScope tasks(TaskScope::Policy::collect);
        ASSERT_TRUE(detail::currentTask().scopes.innermost->list().add(gate));
        tasks.spawn([&] {
            TaskScope inner;  // newer than the gate: its child is cancelled before the cancellation is held up
            inner.spawn([&] { permits.acquire(); });
            const CancellationShield shield;  // so that only the grandchild's end ends the child
            inner.join();
        });
        while (tasks.running() != 0) thisFiber::yield();
        gate.open();
        EXPECT_EQ(outcome([&] { tasks.join(); }), operationAborted());
    });
    sync::awaitWaiters(permits, 1);
    source.cancel();
    parent.join();
}

TEST(CancelScope, ATaskScopeOutsideItKeepsItsChildren) {
    CarrierGroup group(carriers(1));
    group
        .spawn([] {
            CancelSource source;
            TaskScope tasks;
            sync::Semaphore permits(0);
            {
                CancelScope scope(source.token());
                tasks.spawn([&] { EXPECT_EQ(outcome([&] { permits.acquire(); }), ErrorCode()); });
                source.cancel();
            }
            permits.release();
            tasks.join();
        })
        .join();
}

TEST(CancelScope, AChildThatIsSpawnedAfterTheCancellationStartsCancelled) {
    CarrierGroup group(carriers(1));
    group
        .spawn([] {
            CancelSource source;
            source.cancel();
            CancelScope scope(source.token());
            TaskScope tasks;
            ErrorCode error;
            tasks.spawn([&] { error = outcome(sleepLong); });
            EXPECT_EQ(outcome([&] { tasks.join(); }), operationAborted());
            EXPECT_EQ(error, operationAborted());
        })
        .join();
}

TEST(CancelScope, CancelsManyChildrenOnTwoCarriers) {
    CarrierGroup group(carriers(2));
    CancelSource source;
    sync::Semaphore permits(0);
    auto fiber = group.spawn([&] {
        CancelScope scope(source.token());
        TaskScope tasks;
        for (unsigned i = 0; i < sync::manyFibers; ++i) tasks.spawnOn(group.carrier(i % 2), [&] { permits.acquire(); });
        return outcome([&] { tasks.join(); });
    });
    sync::awaitWaiters(permits, sync::manyFibers);
    source.cancel();
    EXPECT_EQ(fiber.join(), operationAborted());
    EXPECT_EQ(permits.waiters(), 0u);
}

TEST(CancelScope, ATaskScopeUnderAShieldIsPartOfTheCleanup) {
    CarrierGroup group(carriers(1));
    group
        .spawn([] {
            CancelSource source;
            source.cancel();
            CancelScope scope(source.token());
            DeadlineScope deadline(Deadline::min());
            const CancellationShield shield;
            TaskScope tasks;
            tasks.spawn([] {
                EXPECT_EQ(thisFiber::deadline(), never);
                thisFiber::sleepFor(milliseconds(1));
            });
            tasks.join();
        })
        .join();
}

// A permit, a token, a deadline or a cancellation ends each wait; no permit is lost or doubled.
TEST(CancelScope, AWaitThatSeveralCausesEndTogetherEndsOnce) {
    CarrierGroup group(carriers(2));
    sync::Semaphore permits(2);
    for (int round = 0; round < 30; ++round) {
        CancelSource source;
        std::vector<JoinHandle<void>> fibers;
        for (unsigned i = 0; i < 40; ++i) {
            fibers.push_back(group.carrier(i % 2).spawn([&, i] {
                CancelScope outer(source.token());
                CancelScope inner(CancelSource(source.token()).token());
                DeadlineScope deadline(std::chrono::microseconds(30 * i));
                ErrorCode error;
                for (int turn = 0; turn < 5 && !error; ++turn) {
                    permits.acquire(1, error);
                    if (error) break;
                    thisFiber::yield();
                    permits.release();
                }
            }));
        }
        fibers[7].cancel();
        source.cancel();
        for (auto& fiber : fibers) fiber.join();
        EXPECT_TRUE(permits.tryAcquire(2));
        EXPECT_FALSE(permits.tryAcquire(1));
        permits.release(2);
    }
}

TEST(CancelScope, MayBeLeftWhileAnotherThreadCancelsIt) {
    CarrierGroup group(carriers(2));
    for (int round = 0; round < 500; ++round) {
        CancelSource source;
        std::atomic<bool> go{false};
        auto fiber = group.spawn([&] {
            go = true;
            for (int i = 0; i < 3; ++i) {
                CancelScope outer(source.token());
                CancelScope inner(source.token());
                TaskScope tasks;
                tasks.spawn([] { thisFiber::yield(); });
                ErrorCode error;
                thisFiber::sleepFor(Duration(1), error);
            }
            return thisFiber::cancelRequested();
        });
        while (!go) std::this_thread::yield();
        source.cancel();
        EXPECT_FALSE(fiber.join());
    }
}

TEST(CancelScope, ThatEndsBeforeItsTaskScopeIsFatal) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            CancelSource source;
            std::optional<CancelScope> scope(source.token());
            TaskScope tasks;
            scope.reset();
        },
        "a CancelScope ends before a scope that was begun in it");
}

// The canceller's stack is small; the nest is on a stack of its own.
TEST(CancelScope, ScopesNestedToAnyDepthAreCancelledFromASmallStack) {
    CarrierGroup group(carriers(2));
    CancelSource source;
    Promise<void> nested;
    struct Nest {
        Promise<void>& nested;
        // Only the outermost scope has a token of its own.
        void in(int depth, const CancelToken& token) const {
            const CancelScope scope(token);
            if (depth > 0) return in(depth - 1, CancelToken());
            nested.setValue();
            ErrorCode error;
            thisFiber::sleepFor(hours(1), error);
            EXPECT_EQ(error, operationAborted());
        }
    } const nest{nested};
    auto waiting = group.carrier(0).spawn([&] { nest.in(5'000, source.token()); }, {.stackSize = 16 << 20});
    nested.future().await();
    group.carrier(1).spawn([&] { source.cancel(); }, {.stackSize = 64 * 1024}).join();
    waiting.join();
}

}  // namespace
}  // namespace weft
