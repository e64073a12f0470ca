#include <weft/scheduler/sync/rw_lock.hpp>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/task_scope.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

TEST(RwLock, ReadersShareAndAWriterIsAlone) {
    CarrierGroup group(carriers(2));
    RwLock lock;
    std::atomic<int> readers{0};
    std::atomic<int> writers{0};
    std::vector<JoinHandle<void>> fibers;
    for (std::size_t i = 0; i < 8; ++i) {
        fibers.push_back(group.carrier(i % 2).spawn([&, i] {
            for (int round = 0; round < 200; ++round) {
                if (i < 2) {
                    std::unique_lock held(lock);
                    EXPECT_EQ(++writers, 1);
                    EXPECT_EQ(readers, 0);
                    thisFiber::yield();
                    --writers;
                } else {
                    std::shared_lock held(lock);
                    ++readers;
                    EXPECT_EQ(writers, 0);
                    thisFiber::yield();
                    --readers;
                }
            }
        }));
    }
    for (auto& fiber : fibers) fiber.join();
    EXPECT_EQ(lock.readers(), 0u);
    EXPECT_FALSE(lock.isWriteLocked());
}

TEST(RwLock, SeveralReadersHoldItAtATime) {
    RwLock lock;
    std::shared_lock first(lock);
    std::shared_lock second(lock);
    EXPECT_EQ(lock.readers(), 2u);
    EXPECT_FALSE(lock.try_lock());
    EXPECT_FALSE(lock.try_lock_until(soon()));
    EXPECT_TRUE(lock.try_lock_shared_for(std::chrono::minutes(1)));
    lock.unlock_shared();
}

TEST(RwLock, AWriterThatWaitsKeepsLaterReadersOutUntilItGivesUp) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            RwLock lock;
            std::string order;
            lock.lock_shared();
            TaskScope scope;
            auto writer = scope.spawn([&] {
                std::unique_lock held(lock);
                order += 'w';
            });
            awaitWaiters(lock, 1);
            EXPECT_FALSE(lock.try_lock_shared());
            scope.spawn([&] {
                std::shared_lock held(lock);
                order += 'r';
            });
            awaitWaiters(lock, 2);
            writer.cancel();
            scope.join();
            EXPECT_EQ(order, "r") << "the reader waited for the writer only";
            lock.unlock_shared();
        })
        .join();
}

TEST(RwLock, ADowngradeLetsReadersInAndKeepsWritersOut) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            RwLock lock;
            std::unique_lock writing(lock);
            TaskScope scope;
            bool read = false;
            bool written = false;
            scope.spawn([&] {
                std::shared_lock held(lock);
                read = true;
            });
            awaitWaiters(lock, 1);
            scope.spawn([&] {
                std::unique_lock held(lock);
                EXPECT_TRUE(read);
                written = true;
            });
            awaitWaiters(lock, 2);
            std::shared_lock reading = RwLock::downgrade(std::move(writing));
            EXPECT_FALSE(lock.isWriteLocked());
            while (!read) thisFiber::yield();
            EXPECT_EQ(lock.waiters(), 1u);
            EXPECT_FALSE(written);
            reading.unlock();
            scope.join();
            EXPECT_TRUE(written);
        })
        .join();
}

TEST(RwLock, ATimedWaitEndsAtItsDeadline) {
    RwLock lock;
    ErrorCode error;
    std::unique_lock writing(lock);
    EXPECT_TRUE(lock.isWriteLocked());
    std::thread([&] {
        EXPECT_FALSE(lock.try_lock_shared_until(soon(), error));
        EXPECT_EQ(error, timedOut());
        EXPECT_FALSE(lock.try_lock_until(soon(), error));
        EXPECT_EQ(error, timedOut());
        EXPECT_FALSE(lock.try_lock_for(std::chrono::microseconds(1)));
    }).join();
    writing.unlock();
    lock.lock_shared(error);
    EXPECT_FALSE(error);
    lock.unlock_shared();
    lock.lock(error);
    EXPECT_FALSE(error);
    lock.unlock();
}

TEST(RwLock, UnlockingWhatIsNotLockedFailsAnAssertion) {
    RwLock lock;
    EXPECT_DEATH(lock.unlock_shared(), "not locked");
    EXPECT_DEATH(lock.unlock(), "not locked");
}

TEST(RwLock, OnlyTheLockEndsAnUninterruptibleWait) {
    CarrierGroup group(carriers(1));
    RwLock lock;
    lock.lock();
    auto writing = group.spawn([&] {
        lock.lockUninterruptibly();
        lock.unlock();
    });
    awaitWaiters(lock, 1);
    auto reading = group.spawn([&] {
        lock.lockSharedUninterruptibly();
        lock.unlock_shared();
    });
    awaitWaiters(lock, 2);
    writing.cancel();
    reading.cancel();
    group.spawn([] {}).join();  // the carrier has seen both
    EXPECT_EQ(lock.waiters(), 2u);
    lock.unlock();
    writing.join();
    reading.join();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
}

TEST(RwLock, AWriterThatLocksAgainFailsAnAssertion) {
    RwLock lock;
    lock.lock();
    EXPECT_DEATH(lock.lock(), "deadlock");
    EXPECT_DEATH(lock.lock_shared(), "deadlock");
    EXPECT_DEATH(lock.lockUninterruptibly(), "deadlock");
    lock.unlock();
}

TEST(RwLock, UnlockingAsAReaderWhatAWriterHoldsFailsAnAssertion) {
    RwLock lock;
    lock.lock();
    EXPECT_DEATH(lock.unlock_shared(), "held by a writer");
    EXPECT_DEATH(static_cast<void>(RwLock::downgrade(std::unique_lock(lock, std::defer_lock))), "does not own");
    lock.unlock();
}

}  // namespace
}  // namespace weft::sync
