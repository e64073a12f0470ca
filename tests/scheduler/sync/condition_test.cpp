#include <weft/scheduler/sync/condition.hpp>

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/sync/mutex.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

TEST(Condition, WhatOneFiberPutsAnotherTakes) {
    CarrierGroup group(carriers(2));
    Mutex mutex;
    Condition filled;
    Condition emptied;
    std::deque<int> items;
    auto taking = group.carrier(0).spawn([&] {
        long sum = 0;
        for (int i = 0; i < 1000; ++i) {
            std::unique_lock held(mutex);
            filled.wait(held, [&] { return !items.empty(); });
            sum += items.front();
            items.pop_front();
            emptied.notifyOne();
        }
        return sum;
    });
    group.carrier(1)
        .spawn([&] {
            for (int i = 0; i < 1000; ++i) {
                std::unique_lock held(mutex);
                emptied.wait(held, [&] { return items.size() < 2; });
                items.push_back(i);
                filled.notifyOne();
            }
        })
        .join();
    EXPECT_EQ(taking.join(), 999L * 500);
}

TEST(Condition, AFairMutexAndAPlainThreadMayUseItToo) {
    FairMutex mutex;
    Condition changed;
    bool ready = false;
    std::thread thread([&] {
        std::unique_lock held(mutex);
        changed.wait(held, [&] { return ready; });
    });
    awaitWaiters(changed, 1);
    {
        std::lock_guard held(mutex);
        ready = true;
    }
    changed.notifyAll();
    thread.join();
}

TEST(Condition, NotifyOneEndsOneWaitAndNotifyAllTheRest) {
    CarrierGroup group(carriers(1));
    Mutex mutex;
    Condition changed;
    std::vector<JoinHandle<void>> waiting;
    for (std::size_t i = 0; i < 3; ++i) {
        waiting.push_back(group.spawn([&] {
            std::unique_lock held(mutex);
            changed.wait(held);
        }));
        awaitWaiters(changed, i + 1);
    }
    changed.notifyOne();
    waiting.front().join();
    EXPECT_EQ(changed.waiters(), 2u);
    changed.notifyAll();
    for (std::size_t i = 1; i < 3; ++i) waiting[i].join();
    changed.notifyOne();
    changed.notifyAll();
}

TEST(Condition, ANotificationIsNotLostToAWaiterThatIsCancelled) {
    CarrierGroup group(carriers(1));
    Mutex mutex;
    Condition changed;
    const auto waits = [&] {
        std::unique_lock held(mutex);
        changed.wait(held);
    };
    auto first = group.spawn(waits);
    awaitWaiters(changed, 1);
    auto second = group.spawn(waits);
    awaitWaiters(changed, 2);
    group
        .spawn([&] {
            first.cancel();
            changed.notifyOne();  // before the first has run
        })
        .join();
    second.join();
    EXPECT_EQ(outcome([&] { first.join(); }), operationAborted());
}

// The wait ends while another fiber holds the lock.
TEST(Condition, AWaitThatFailsHoldsTheLockAgain) {
    CarrierGroup group(carriers(1));
    Mutex mutex;
    Condition changed;
    bool inside = false;
    bool timedOutTwice = false;
    auto waiting = group.spawn([&] {
        std::unique_lock held(mutex);
        EXPECT_FALSE(changed.waitUntil(held, soon()));
        EXPECT_TRUE(held.owns_lock());
        EXPECT_FALSE(changed.waitUntil(held, soon(), [] { return false; }));
        timedOutTwice = true;
        ErrorCode error;
        changed.wait(held, error);
        EXPECT_EQ(error, operationAborted());
        EXPECT_TRUE(held.owns_lock());
        EXPECT_FALSE(inside);
        EXPECT_THROW(changed.wait(held), SystemError);
        EXPECT_TRUE(held.owns_lock());
        EXPECT_TRUE(mutex.isLocked());
    });
    group
        .spawn([&] {
            while (!timedOutTwice || changed.waiters() == 0) thisFiber::yield();
            std::lock_guard held(mutex);
            inside = true;
            waiting.cancel();
            for (int i = 0; i < 10; ++i) thisFiber::yield();
            inside = false;
        })
        .join();
    waiting.join();
    EXPECT_FALSE(mutex.isLocked());
    EXPECT_EQ(changed.waiters(), 0u);
}

TEST(Condition, WhereNothingMayBlockAWaitIsAnErrorAndTheLockStays) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            Mutex mutex;
            Condition changed;
            std::unique_lock held(mutex);
            const NonSuspendingScope scope;
            EXPECT_THROW(changed.wait(held), BlockingOperationException);
            EXPECT_TRUE(held.owns_lock());
            EXPECT_EQ(changed.waiters(), 0u);
        })
        .join();
}

TEST(Condition, AWaitWithoutTheLockFailsAnAssertion) {
    Mutex mutex;
    Condition changed;
    std::unique_lock lock(mutex, std::defer_lock);
    EXPECT_DEATH(changed.wait(lock), "own");
}

TEST(Condition, AWaitWithAPredicateReportsWhatEndedIt) {
    CarrierGroup group(carriers(1));
    Mutex mutex;
    Condition changed;
    bool ready = false;
    std::atomic<bool> isLast{false};
    auto waiting = group.spawn([&] {
        std::unique_lock held(mutex);
        ErrorCode error;
        EXPECT_FALSE(changed.waitUntil(held, soon(), error));
        EXPECT_EQ(error, timedOut());
        EXPECT_FALSE(changed.waitUntil(held, soon(), error, [&] { return ready; }));
        EXPECT_EQ(error, timedOut());
        isLast = true;
        changed.wait(held, error, [&] { return ready; });
        EXPECT_EQ(error, operationAborted());
        EXPECT_TRUE(held.owns_lock());
        EXPECT_TRUE(changed.waitUntil(held, late(), error, [] { return true; }));
        EXPECT_FALSE(error);
    });
    while (!isLast) thisFiber::yield();
    awaitWaiters(changed, 1);
    waiting.cancel();
    waiting.join();
}

}  // namespace
}  // namespace weft::sync
