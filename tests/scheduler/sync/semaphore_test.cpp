#include <weft/scheduler/sync/semaphore.hpp>

#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/manual_clock.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/task_scope.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft::sync {
namespace {

TEST(Semaphore, NoMoreCallersThanPermitsAreInside) {
    CarrierGroup group(carriers(2));
    Semaphore semaphore(3);
    std::atomic<int> inside{0};
    std::vector<JoinHandle<void>> fibers;
    for (std::size_t i = 0; i < 10; ++i) {
        fibers.push_back(group.carrier(i % 2).spawn([&] {
            for (int round = 0; round < 200; ++round) {
                const auto permit = semaphore.acquirePermit();
                EXPECT_LE(++inside, 3);
                thisFiber::yield();
                --inside;
            }
        }));
    }
    for (auto& fiber : fibers) fiber.join();
    EXPECT_EQ(semaphore.permits(), 3u);
    EXPECT_EQ(semaphore.waiters(), 0u);
}

TEST(Semaphore, ALargeRequestIsSatisfiedBeforeTheSmallOnesThatCameLater) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            Semaphore semaphore(2);
            std::string order;
            semaphore.acquire(2);
            TaskScope scope;
            scope.spawn([&] {
                semaphore.acquire(2);
                order += 'L';
                semaphore.release(2);
            });
            awaitWaiters(semaphore, 1);
            scope.spawn([&] {
                semaphore.acquire(1);
                order += 's';
                semaphore.release(1);
            });
            awaitWaiters(semaphore, 2);
            semaphore.release(1);
            EXPECT_FALSE(semaphore.tryAcquire(1)) << "a request for one must not overtake";
            semaphore.release(1);
            scope.join();
            EXPECT_EQ(order, "Ls");
            EXPECT_EQ(semaphore.permits(), 2u);
        })
        .join();
}

TEST(Semaphore, OneReleaseServesEveryRequestThatItSatisfies) {
    CarrierGroup group(carriers(1));
    Semaphore semaphore(0);
    std::vector<JoinHandle<void>> waiting;
    for (const std::uint32_t count : {1, 2, 3}) {
        waiting.push_back(group.spawn([&semaphore, count] { semaphore.acquire(count); }));
        awaitWaiters(semaphore, waiting.size());
    }
    semaphore.release(7);
    for (auto& fiber : waiting) fiber.join();
    EXPECT_EQ(semaphore.permits(), 1u);
}

// The request at the head was all that the next ones waited for.
TEST(Semaphore, ARequestThatGivesUpLetsThoseAfterItPass) {
    ManualClock clock;
    CarrierOptions options = carriers(1);
    options.clock = &clock;
    CarrierGroup group(options);
    for (const bool byDeadline : {false, true}) {
        Semaphore semaphore(1);
        auto large = group.spawn([&] {
            if (byDeadline) {
                EXPECT_FALSE(semaphore.acquireUntil(deadlineAfter(std::chrono::seconds(1)), 2));
            } else {
                EXPECT_EQ(outcome([&] { semaphore.acquire(2); }), operationAborted());
            }
        });
        awaitWaiters(semaphore, 1);
        auto small = group.spawn([&] { return semaphore.acquireUntil(late(), 1); });
        awaitWaiters(semaphore, 2);
        byDeadline ? clock.advance(std::chrono::seconds(2)) : large.cancel();
        EXPECT_TRUE(small.join());
        large.join();
        EXPECT_EQ(semaphore.permits(), 0u);
    }
}

TEST(Semaphore, ClosingEndsAllWaitsAndLaterRequests) {
    CarrierGroup group(carriers(2));
    Semaphore semaphore(0);
    std::vector<JoinHandle<ErrorCode>> waiting;
    for (std::size_t i = 0; i < 3; ++i) {
        waiting.push_back(group.carrier(i % 2).spawn([&] { return outcome([&] { semaphore.acquire(); }); }));
    }
    awaitWaiters(semaphore, 3);
    EXPECT_TRUE(semaphore.close());
    EXPECT_FALSE(semaphore.close());
    for (auto& fiber : waiting) EXPECT_EQ(fiber.join(), fromErrno(EPIPE));
    EXPECT_TRUE(semaphore.isClosed());
    semaphore.release(5);
    EXPECT_FALSE(semaphore.tryAcquire());
    ErrorCode error;
    semaphore.acquire(1, error);
    EXPECT_EQ(error, fromErrno(EPIPE));
    EXPECT_FALSE(semaphore.acquireUntil(late(), 1, error));
    EXPECT_EQ(error, fromErrno(EPIPE));
    EXPECT_EQ(semaphore.permits(), 5u);
}

TEST(Semaphore, ForgottenPermitsAreGone) {
    Semaphore semaphore(5);
    EXPECT_EQ(semaphore.forget(2), 2u);
    EXPECT_EQ(semaphore.forget(9), 3u);
    EXPECT_EQ(semaphore.forget(1), 0u);
    EXPECT_FALSE(semaphore.tryAcquire());
    semaphore.release();
    EXPECT_TRUE(semaphore.tryAcquire());
}

TEST(Semaphore, APermitIsReleasedOnceByItsLastOwner) {
    Semaphore semaphore(3);
    SemaphorePermit kept;
    {
        SemaphorePermit permit = semaphore.acquirePermit(2);
        EXPECT_EQ(permit.count(), 2u);
        kept = std::move(permit);
        EXPECT_EQ(semaphore.permits(), 1u);
    }
    EXPECT_EQ(semaphore.permits(), 1u);
    kept = semaphore.acquirePermit();
    EXPECT_EQ(semaphore.permits(), 2u) << "assignment releases what the permit held";
    kept.release();
    kept.release();
    EXPECT_EQ(semaphore.permits(), 3u);
    semaphore.acquirePermit().forget();
    EXPECT_EQ(semaphore.permits(), 2u);
}

TEST(Semaphore, WhereNothingMayBlockARequestThatHasToWaitIsAnError) {
    CarrierGroup group(carriers(1));
    Semaphore semaphore(1);
    group
        .spawn([&] {
            const NonSuspendingScope scope;
            semaphore.acquire();
            EXPECT_THROW(semaphore.acquire(), BlockingOperationException);
            ErrorCode error;
            EXPECT_THROW(semaphore.acquire(1, error), BlockingOperationException);
        })
        .join();
    EXPECT_EQ(semaphore.waiters(), 0u);
    semaphore.release();
    EXPECT_TRUE(semaphore.tryAcquire());
}

TEST(Semaphore, ARequestForNothingIsSatisfiedUnlessOthersWait) {
    Semaphore semaphore(0);
    EXPECT_TRUE(semaphore.tryAcquire(0));
    semaphore.acquire(0);
    semaphore.release(0);
    EXPECT_EQ(semaphore.permits(), 0u);
}

TEST(Semaphore, MoreThanTheMaximumFailsAnAssertion) {
    Semaphore semaphore(Semaphore::mostPermits);
    EXPECT_EQ(semaphore.permits(), Semaphore::mostPermits);
    EXPECT_DEATH(semaphore.release(), "mostPermits");
    EXPECT_DEATH(semaphore.release(~std::uint32_t{0}), "mostPermits");
    EXPECT_DEATH(static_cast<void>(Semaphore(Semaphore::mostPermits + 1)), "mostPermits");
    EXPECT_TRUE(semaphore.tryAcquire(Semaphore::mostPermits));
    EXPECT_DEATH(semaphore.acquire(Semaphore::mostPermits + 1), "mostPermits");
}

}  // namespace
}  // namespace weft::sync
