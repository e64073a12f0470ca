#include <weft/scheduler/sync/mutex.hpp>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/task_scope.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

template <class M>
class MutexTest : public testing::Test {};
using Mutexes = testing::Types<Mutex, FairMutex>;
TYPED_TEST_SUITE(MutexTest, Mutexes);

TYPED_TEST(MutexTest, FibersOfTwoCarriersAndAThreadExcludeEachOther) {
    CarrierGroup group(carriers(2));
    TypeParam mutex;
    int inside = 0;
    int rounds = 0;
    const auto work = [&] {
        for (int i = 0; i < 500; ++i) {
            std::lock_guard held(mutex);
            EXPECT_EQ(++inside, 1);
            if (i % 3 == 0) thisFiber::yield();
            ++rounds;
            --inside;
        }
    };
    std::vector<JoinHandle<void>> fibers;
    for (std::size_t i = 0; i < 8; ++i) fibers.push_back(group.carrier(i % 2).spawn(work));
    work();
    for (auto& fiber : fibers) fiber.join();
    EXPECT_EQ(rounds, 9 * 500);
    EXPECT_FALSE(mutex.isLocked());
    EXPECT_EQ(mutex.waiters(), 0u);
}

TYPED_TEST(MutexTest, TheOtherFibersRunWhileOneWaits) {
    CarrierGroup group(carriers(1));
    TypeParam mutex;
    mutex.lock();
    auto waiting = group.spawn([&] { std::lock_guard held(mutex); });
    awaitWaiters(mutex, 1);
    EXPECT_EQ(group.spawn([] { return 7; }).join(), 7);
    mutex.unlock();
    waiting.join();
}

TYPED_TEST(MutexTest, TryLockTakesAFreeLockAndNeverWaits) {
    TypeParam mutex;
    EXPECT_TRUE(mutex.try_lock());
    std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
    mutex.unlock();
}

TYPED_TEST(MutexTest, ATimedWaitEndsAtItsDeadlineAndLeavesTheQueue) {
    CarrierGroup group(carriers(1));
    TypeParam mutex;
    mutex.lock();
    group
        .spawn([&] {
            EXPECT_FALSE(mutex.try_lock_until(soon()));
            EXPECT_FALSE(mutex.try_lock_for(std::chrono::microseconds(1)));
            ErrorCode error;
            EXPECT_FALSE(mutex.try_lock_until(soon(), error));
            EXPECT_EQ(error, timedOut());
        })
        .join();
    EXPECT_EQ(mutex.waiters(), 0u);
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock_until(late()));
    mutex.unlock();
}

// At the head, in the middle and at the end of the queue.
TYPED_TEST(MutexTest, ACancelledWaiterLeavesTheQueueAndTheOthersGetTheLock) {
    CarrierGroup group(carriers(1));
    for (const std::size_t cancelled : {0, 1, 2}) {
        TypeParam mutex;
        mutex.lock();
        std::vector<JoinHandle<void>> waiting;
        for (std::size_t i = 0; i < 3; ++i) {
            waiting.push_back(group.spawn([&] { std::lock_guard held(mutex); }));
            awaitWaiters(mutex, i + 1);
        }
        waiting[cancelled].cancel();
        EXPECT_EQ(outcome([&] { waiting[cancelled].join(); }), operationAborted());
        EXPECT_EQ(mutex.waiters(), 2u);
        mutex.unlock();
        for (std::size_t i = 0; i < 3; ++i) {
            if (i != cancelled) waiting[i].join();
        }
        EXPECT_FALSE(mutex.isLocked());
    }
}

TYPED_TEST(MutexTest, AnUninterruptibleWaitEndsWithTheLockOnly) {
    CarrierGroup group(carriers(1));
    TypeParam mutex;
    mutex.lock();
    auto waiting = group.spawn([&] {
        mutex.lockUninterruptibly();
        const bool cancelled = thisFiber::cancelRequested();
        mutex.unlock();
        return cancelled;
    });
    awaitWaiters(mutex, 1);
    waiting.cancel();
    EXPECT_EQ(group.spawn([&] { return mutex.waiters(); }).join(), 1u);
    mutex.unlock();
    EXPECT_TRUE(waiting.join());
}

TYPED_TEST(MutexTest, AShutdownEndsTheWaits) {
    TypeParam mutex;
    mutex.lock();
    ErrorCode error;
    {
        CarrierGroup group(carriers(1));
        group.spawn([&] { mutex.lock(error); }).detach();
        awaitWaiters(mutex, 1);
    }
    EXPECT_EQ(error, operationAborted());
    EXPECT_EQ(mutex.waiters(), 0u);
    mutex.unlock();
}

// A handler may take a lock that is free. For one that is held it would stop its carrier's event loop.
TYPED_TEST(MutexTest, WhereNothingMayBlockALockThatIsHeldIsAnError) {
    CarrierGroup group(carriers(1));
    TypeParam mutex;
    group
        .spawn([&] {
            const NonSuspendingScope scope;
            mutex.lock();
            EXPECT_THROW(mutex.lock(), BlockingOperationException);
            ErrorCode error;
            EXPECT_THROW(mutex.lock(error), BlockingOperationException);
            EXPECT_THROW(static_cast<void>(mutex.try_lock_until(soon())), BlockingOperationException);
            EXPECT_THROW(mutex.lockUninterruptibly(), BlockingOperationException);
            mutex.unlock();
        })
        .join();
    EXPECT_FALSE(mutex.isLocked());
    EXPECT_EQ(mutex.waiters(), 0u);
}

TYPED_TEST(MutexTest, AnotherFiberMayUnlock) {
    CarrierGroup group(carriers(2));
    TypeParam mutex;
    std::unique_lock<TypeParam> given;
    group.carrier(0).spawn([&] { given = std::unique_lock(mutex); }).join();
    EXPECT_TRUE(mutex.isLocked());
    group.carrier(1).spawn([&] { given.unlock(); }).join();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

// The next fiber runs on the stack of the one that has ended; it is not the owner.
TYPED_TEST(MutexTest, AFiberThatGaveItsLockAwayAndEndedIsNotMistakenForTheNextOnItsStack) {
    CarrierGroup group(carriers(1));
    TypeParam mutex;
    std::unique_lock<TypeParam> given;
    for (int round = 0; round < 20; ++round) {
        group.spawn([&] { given = std::unique_lock(mutex); }).join();
        auto waiting = group.spawn([&] { std::lock_guard held(mutex); });
        awaitWaiters(mutex, 1);
        given.unlock();
        waiting.join();
    }
}

TYPED_TEST(MutexTest, LockingTwiceIsADeadlockAndFailsAnAssertion) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // one of the children starts threads
    EXPECT_DEATH(
        {
            TypeParam mutex;
            mutex.lock();
            mutex.lock();
        },
        "deadlock");
    EXPECT_DEATH(
        {
            CarrierGroup group(carriers(1));
            TypeParam mutex;
            group
                .spawn([&] {
                    std::lock_guard held(mutex);
                    static_cast<void>(mutex.try_lock_until(soon()));
                })
                .join();
        },
        "deadlock");
}

// A reference count behind a lock: the last owner destroys the lock while the others may still be in unlock().
TYPED_TEST(MutexTest, TheLastOwnerMayDestroyTheMutex) {
    struct Shared {
        TypeParam mutex;
        int owners = 4;
    };
    CarrierGroup group(carriers(2));
    for (int round = 0; round < 300; ++round) {
        auto* const shared = new Shared;
        const auto release = [shared] {
            shared->mutex.lock();
            const bool last = --shared->owners == 0;
            shared->mutex.unlock();
            if (last) delete shared;
        };
        std::vector<JoinHandle<void>> fibers;
        for (std::size_t i = 0; i < 4; ++i) fibers.push_back(group.carrier(i % 2).spawn(release));
        for (auto& fiber : fibers) fiber.join();
    }
}

TEST(FairMutex, ServesTheWaitersInTheirOrderAndLetsNoOtherFiberOvertakeThem) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            FairMutex mutex;
            std::string order;
            mutex.lock();
            TaskScope scope;
            for (const char name : {'a', 'b', 'c'}) {
                scope.spawn([&, name] {
                    std::lock_guard held(mutex);
                    order += name;
                });
                awaitWaiters(mutex, scope.running());
            }
            mutex.unlock();
            EXPECT_FALSE(mutex.try_lock()) << "handed over";
            mutex.lock();
            order += 'd';
            mutex.unlock();
            EXPECT_EQ(order, "abcd");
        })
        .join();
}

// The fiber that unlocks would have the lock again before the waiter runs.
TEST(Mutex, AWaiterThatHasWaitedForAMillisecondGetsTheLock) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            Mutex mutex;
            bool served = false;
            mutex.lock();
            TaskScope scope;
            scope.spawn([&] {
                std::lock_guard held(mutex);
                served = true;
            });
            awaitWaiters(mutex, 1);
            const Deadline fair = deadlineAfter(std::chrono::milliseconds(1));
            while (Clock::steady().now() < fair) thisFiber::yield();
            mutex.unlock();
            EXPECT_FALSE(mutex.try_lock()) << "handed over";
            mutex.lock();
            EXPECT_TRUE(served);
            mutex.unlock();
        })
        .join();
}

TEST(MutexTest, UnlockingWhatIsNotLockedFailsAnAssertion) {
    Mutex mutex;
    EXPECT_DEATH(mutex.unlock(), "not locked");
}

}  // namespace
}  // namespace weft::sync
