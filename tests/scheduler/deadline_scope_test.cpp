// DeadlineScope and timeout(): every wait in the scope ends at its deadline, and only the scope whose deadline has
// passed calls that a timeout.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/scheduler/blocking.hpp>
#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/deadline_scope.hpp>
#include <weft/scheduler/sync/bounded_queue.hpp>
#include <weft/scheduler/sync/mutex.hpp>
#include <weft/scheduler/sync/select.hpp>
#include <weft/scheduler/sync/semaphore.hpp>
#include <weft/scheduler/task_scope.hpp>

#include "scheduler/sync/fibers.hpp"

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using sync::carriers;
using sync::late;
using sync::outcome;
using sync::soon;

// Runs `body` in a fiber and on a plain thread.
void inFiberAndThread(const std::function<void()>& body) {
    CarrierGroup group(carriers(1));
    group.spawn([&] { body(); }).join();
    body();
}

TEST(DeadlineScope, EndsEveryKindOfWait) {
    inFiberAndThread([] {
        DeadlineScope scope(soon());
        EXPECT_EQ(outcome([] { thisFiber::sleepFor(hours(1)); }), operationAborted());
        EXPECT_TRUE(scope.expired());
        Promise<int> promise;
        EXPECT_EQ(outcome([&] { promise.future().await(); }), operationAborted());
        sync::BoundedQueue<int> queue(1);
        EXPECT_EQ(outcome([&] { static_cast<void>(queue.receive()); }), operationAborted());
        EXPECT_EQ(outcome([&] { sync::select(sync::onReceive(queue, [](auto) {})); }), operationAborted());
        sync::Semaphore permits(0);
        EXPECT_EQ(outcome([&] { permits.acquire(); }), operationAborted());
        EXPECT_EQ(permits.waiters(), 0u);
    });
}

TEST(DeadlineScope, EndsAWaitForALockWhichThenBelongsToTheOther) {
    CarrierGroup group(carriers(2));
    sync::Mutex mutex;
    mutex.lock();
    group
        .spawn([&] {
            DeadlineScope scope(soon());
            EXPECT_EQ(outcome([&] { mutex.lock(); }), operationAborted());
        })
        .join();
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

TEST(DeadlineScope, EndsBlockingJoinsAndOtherFibersJoins) {
    CarrierGroup group(carriers(1));
    Promise<void> go;
    auto other = group.spawn([&] { go.future().await(); });
    group
        .spawn([&] {
            DeadlineScope scope(soon());
            EXPECT_EQ(outcome([&] { other.join(); }), operationAborted());
        })
        .join();
    go.setValue();
    other.join();
}

TEST(DeadlineScope, AnEarlierDeadlineOfTheCallTimesOutAsBefore) {
    inFiberAndThread([] {
        DeadlineScope scope(late());
        sync::Semaphore permits(0);
        EXPECT_FALSE(permits.acquireUntil(soon()));
        Promise<int> promise;
        EXPECT_FALSE(promise.future().awaitUntil(soon()));
        EXPECT_EQ(outcome([] { thisFiber::sleepFor(milliseconds(1)); }), ErrorCode());
        EXPECT_FALSE(scope.expired());
    });
}

TEST(DeadlineScope, AResultThatIsThereIsReturnedAfterTheDeadline) {
    inFiberAndThread([] {
        DeadlineScope scope(Deadline::min());
        sync::BoundedQueue<int> queue(1);
        queue.send(1);
        EXPECT_EQ(queue.receive(), 1);
        sync::Mutex mutex;
        mutex.lock();
        mutex.unlock();
    });
}

TEST(DeadlineScope, TheCallsAfterItWaitAsBefore) {
    inFiberAndThread([] {
        {
            DeadlineScope scope(Deadline::min());
            EXPECT_EQ(outcome([] { thisFiber::sleepFor(hours(1)); }), operationAborted());
            EXPECT_TRUE(thisFiber::cancelRequested());
        }
        EXPECT_FALSE(thisFiber::cancelRequested());
        EXPECT_EQ(thisFiber::deadline(), never);
        EXPECT_EQ(outcome([] { thisFiber::sleepFor(milliseconds(1)); }), ErrorCode());
    });
}

TEST(DeadlineScope, AnInnerScopeCannotExtendAnOuterOne) {
    inFiberAndThread([] {
        const Deadline outer = soon();
        DeadlineScope scope(outer);
        DeadlineScope inner(never);
        EXPECT_EQ(inner.deadline(), outer);
        EXPECT_EQ(thisFiber::deadline(), outer);
        EXPECT_EQ(outcome([] { thisFiber::sleepFor(hours(1)); }), operationAborted());
        EXPECT_TRUE(inner.expired());
        EXPECT_FALSE(inner.timedOut());
        EXPECT_TRUE(scope.timedOut());
    });
}

TEST(DeadlineScope, WithNeverIsNoScope) {
    inFiberAndThread([] {
        DeadlineScope scope(never);
        EXPECT_FALSE(scope.expired());
        EXPECT_EQ(outcome([] { thisFiber::sleepFor(milliseconds(1)); }), ErrorCode());
    });
}

TEST(DeadlineScope, AShieldDefersTheDeadlineToTheFirstWaitAfterIt) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            DeadlineScope scope(Deadline::min());
            {
                CancellationShield shield;
                EXPECT_EQ(outcome([] { thisFiber::sleepFor(milliseconds(1)); }), ErrorCode());
            }
            EXPECT_EQ(outcome([] { thisFiber::sleepFor(hours(1)); }), operationAborted());
        })
        .join();
}

TEST(DeadlineScope, AFiberThatWaitsAgainAndAgainAfterTheDeadlineLetsTheOthersRun) {
    CarrierGroup group(carriers(1));
    bool ran = false;
    group
        .spawn([&] {
            auto other = Carrier::current()->spawn([&] { ran = true; });
            DeadlineScope scope(Deadline::min());
            while (!ran) {
                ErrorCode error;
                thisFiber::sleepFor(hours(1), error);
            }
        })
        .join();
}

TEST(DeadlineScope, DestroyedWhileAnExceptionPassesRestoresTheOuterOne) {
    inFiberAndThread([] {
        try {
            DeadlineScope scope(soon());
            thisFiber::sleepFor(hours(1));
        } catch (const SystemError&) {
            EXPECT_EQ(thisFiber::deadline(), never);
            EXPECT_EQ(outcome([] { thisFiber::sleepFor(milliseconds(1)); }), ErrorCode());
        }
    });
}

TEST(DeadlineScope, EachFiberHasItsOwn) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            DeadlineScope scope(Deadline::min());
            auto other = Carrier::current()->spawn([] {
                EXPECT_EQ(thisFiber::deadline(), never);
                return outcome([] { thisFiber::sleepFor(milliseconds(1)); });
            });
            CancellationShield shield;
            EXPECT_EQ(other.join(), ErrorCode());
        })
        .join();
}

// --- children

TEST(DeadlineScope, AppliesToChildrenOnOtherCarriersAndToTheirChildren) {
    CarrierGroup group(carriers(2));
    group
        .spawn([&] {
            const Deadline deadline = soon();
            DeadlineScope scope(deadline);
            TaskScope tasks;
            ErrorCode error;
            tasks.spawnOn(group.carrier(1), [&] {
                EXPECT_EQ(thisFiber::deadline(), deadline);
                TaskScope inner;
                inner.spawnOn(group.carrier(0), [&] {
                    EXPECT_EQ(thisFiber::deadline(), deadline);
                    error = outcome([] { thisFiber::sleepFor(hours(1)); });
                    throw SystemError(error);
                });
                EXPECT_EQ(outcome([&] { inner.join(); }), operationAborted());
                throw SystemError(operationAborted());
            });
            EXPECT_EQ(outcome([&] { tasks.join(); }), operationAborted());
            EXPECT_EQ(error, operationAborted());
        })
        .join();
}

TEST(DeadlineScope, ThatBeginsAfterATaskScopeDoesNotApplyToItsChildren) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            TaskScope tasks;
            DeadlineScope scope(Deadline::min());
            tasks.spawn([] { EXPECT_EQ(thisFiber::deadline(), never); });
            CancellationShield shield;
            tasks.join();
        })
        .join();
}

TEST(DeadlineScope, ThatHasPassedEndsTheFirstWaitOfEachOfManyChildren) {
    CarrierGroup group(carriers(2));
    group
        .spawn([&] {
            std::atomic<int> aborted{0};
            const ErrorCode error = outcome([&] {
                timeout(Deadline::min(), [&] {
                    TaskScope tasks;
                    for (unsigned i = 0; i < sync::manyFibers; ++i) {
                        tasks.spawnOn(group.carrier(i % 2), [&] {
                            const ErrorCode ended = outcome([] { thisFiber::sleepFor(hours(1)); });
                            if (!ended) return;
                            ++aborted;
                            throw SystemError(ended);  // join() reports it, even if all have ended before it
                        });
                    }
                    tasks.join();
                });
            });
            EXPECT_EQ(error, timedOut());
            EXPECT_EQ(aborted, static_cast<int>(sync::manyFibers));
        })
        .join();
}

// A child that is ended by the deadline before the parent waits: join() does not report success.
TEST(DeadlineScope, AChildThatTheDeadlineEndedMakesJoinFail) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            DeadlineScope scope(soon());
            TaskScope tasks;
            auto task = tasks.spawn([] { thisFiber::sleepFor(hours(1)); });
            while (!task.done()) thisFiber::yield();
            EXPECT_EQ(outcome([&] { tasks.join(); }), operationAborted());
            EXPECT_EQ(outcome([&] { tasks.join(); }), ErrorCode());  // reported once
        })
        .join();
}

// --- timeout()

TEST(Timeout, ReturnsTheResult) {
    inFiberAndThread([] {
        EXPECT_EQ(timeout(hours(1), [] { return 1; }), 1);
        int value = 2;
        static_assert(std::is_same_v<decltype(timeout(never, [&]() -> int& { return value; })), int&>);
        EXPECT_EQ(&timeout(never, [&]() -> int& { return value; }), &value);
        EXPECT_EQ(timeout(Deadline::min(), [] { return 3; }), 3);
        timeout(hours(1), [] {});
    });
}

TEST(Timeout, ThrowsTimedOutIfItsDeadlineEndedTheFunction) {
    inFiberAndThread([] {
        EXPECT_EQ(outcome([] { timeout(milliseconds(1), [] { thisFiber::sleepFor(hours(1)); }); }), timedOut());
        EXPECT_EQ(outcome([] { timeout(Deadline::min(), [] { thisFiber::sleepFor(hours(1)); }); }), timedOut());
    });
}

TEST(Timeout, PassesOtherExceptionsOn) {
    inFiberAndThread([] {
        EXPECT_THROW(timeout(Deadline::min(), [] { throw std::out_of_range("x"); }), std::out_of_range);
        EXPECT_EQ(outcome([] { timeout(hours(1), [] { throw SystemError(operationAborted()); }); }),
                  operationAborted());
    });
}

TEST(Timeout, LeavesTheTimeoutToTheOuterScopeThatCausedIt) {
    inFiberAndThread([] {
        ErrorCode inner;
        const Deadline deadline = soon();
        const ErrorCode outer = outcome([&] {
            timeout(deadline, [&] {
                inner = outcome([&] { timeout(deadline, [] { thisFiber::sleepFor(hours(1)); }); });
                throw SystemError(inner);
            });
        });
        EXPECT_EQ(inner, operationAborted());  // both have the same deadline: it is the outer one's
        EXPECT_EQ(outer, timedOut());
    });
}

TEST(Timeout, AfterWhichTheOuterScopeGoesOn) {
    inFiberAndThread([] {
        EXPECT_EQ(timeout(late(),
                          [] {
                              const auto inner = [] {
                                  timeout(milliseconds(1), [] { thisFiber::sleepFor(hours(1)); });
                              };
                              EXPECT_EQ(outcome(inner), timedOut());
                              thisFiber::sleepFor(milliseconds(1));
                              return 7;
                          }),
                  7);
    });
}

TEST(Timeout, OfACancelledFiberIsNoTimeout) {
    CarrierGroup group(carriers(1));
    Promise<void> cancelled;
    auto fiber = group.spawn([&] {
        {
            CancellationShield shield;
            cancelled.future().await();
        }
        return outcome([] { timeout(Deadline::min(), [] { thisFiber::sleepFor(hours(1)); }); });
    });
    fiber.cancel();
    cancelled.setValue();
    EXPECT_EQ(fiber.join(), operationAborted());
}

// The call in the pool uses the caller's variables: it is withdrawn or ends before timeout() returns.
TEST(Timeout, NeverLeavesABlockingCallBehind) {
    CarrierGroup group(carriers(1));
    group
        .spawn([] {
            std::atomic<int> inside{0};
            const ErrorCode error = outcome([&] {
                timeout(Deadline::min(), [&] {
                    blocking([&] {
                        ++inside;
                        std::this_thread::yield();
                        --inside;
                    });
                    thisFiber::sleepFor(hours(1));
                });
            });
            EXPECT_EQ(error, timedOut());
            EXPECT_EQ(inside, 0);
        })
        .join();
}

}  // namespace
}  // namespace weft
