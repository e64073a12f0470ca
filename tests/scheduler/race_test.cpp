// race(), firstSuccess(), collect() and the policies of TaskScope: which result the caller gets, and that every loser
// has ended by then.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>

#include <weft/scheduler/cancel_scope.hpp>
#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/deadline_scope.hpp>
#include <weft/scheduler/race.hpp>
#include <weft/scheduler/sync/semaphore.hpp>
#include <weft/testing/leak_guard.hpp>

#include "scheduler/sync/fibers.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using sync::carriers;
using sync::outcome;
using sync::soon;

// A loser: uses the caller's variable after its wait.
struct Loser {
    int operator()() {
        ErrorCode error;
        thisFiber::sleepFor(hours(1), error);
        thisFiber::yield();
        ++*ended;
        if (error) throw SystemError(error, "the loser");
        return -1;
    }
    int* ended;
};

template <class F>
void inFiber(F body) {
    CarrierGroup group(carriers(1));
    group.spawn(body).join();
}

TEST(Race, ReturnsTheFirstResultOnceTheLosersHaveEnded) {
    inFiber([] {
        int ended = 0;
        const auto won = race(
            Loser{&ended}, [] { return 7; }, Loser{&ended});
        static_assert(std::is_same_v<decltype(won), const FirstResult<int>>);
        EXPECT_EQ(won.index, 1u);
        EXPECT_EQ(won.value, 7);
        EXPECT_EQ(ended, 2);
    });
}

TEST(Race, OfDifferentTypesReturnsAVariantAndOfVoidTheIndex) {
    inFiber([] {
        int ended = 0;
        auto won = race(
            Loser{&ended}, [] { return std::make_unique<std::string>("a"); }, [] { sync::Semaphore(0).acquire(); });
        ASSERT_EQ(won.index(), 1u);
        EXPECT_EQ(*std::get<1>(won), "a");
        EXPECT_EQ(race([] { sync::Semaphore(0).acquire(); }, [] {}), 1u);
        EXPECT_EQ(race([] { return 3; }).value, 3);
    });
}

TEST(Race, RethrowsTheExceptionOfTheFirstThatEnds) {
    test::LogCapture captured;
    inFiber([] {
        int ended = 0;
        EXPECT_THROW(race(Loser{&ended}, []() -> int { throw std::out_of_range("x"); }), std::out_of_range);
        EXPECT_EQ(ended, 1);
    });
    EXPECT_EQ(captured.countAt(LogLevel::error), 0);
}

TEST(Race, WaitsForALoserThatIgnoresItsCancellation) {
    CarrierGroup group(carriers(2));
    sync::Semaphore permits(0);
    bool ended = false;
    auto fiber = group.spawn([&] {
        race([] {},
             [&] {
                 CancellationShield shield;
                 permits.acquire();
                 ended = true;
             });
        EXPECT_TRUE(ended);
    });
    sync::awaitWaiters(permits, 1);
    EXPECT_FALSE(fiber.done());
    permits.release();
    fiber.join();
}

TEST(Race, OfACancelledCallerEndsTheFunctions) {
    CarrierGroup group(carriers(1));
    sync::Semaphore permits(0);
    int ended = 0;
    auto fiber = group.spawn([&] {
        return outcome([&] {
            race(
                [&] {
                    permits.acquire();
                    return 1;
                },
                Loser{&ended});
        });
    });
    sync::awaitWaiters(permits, 1);
    fiber.cancel();
    EXPECT_EQ(fiber.join(), operationAborted());
    EXPECT_EQ(ended, 1);
}

TEST(Race, AgainstATimeoutEndsAtTheDeadline) {
    inFiber([] {
        int ended = 0;
        EXPECT_EQ(outcome([&] { timeout(soon(), [&] { race(Loser{&ended}, Loser{&ended}); }); }), timedOut());
        EXPECT_EQ(ended, 2);
    });
}

TEST(Race, RunsOnAPlainThread) {
    test::LeakGuard::keeps();  // the default group
    int ended = 0;
    EXPECT_EQ(race(Loser{&ended}, [] { return 2; }).value, 2);
    EXPECT_EQ(ended, 1);
}

TEST(FirstSuccess, SkipsFailures) {
    test::LogCapture captured;
    inFiber([] {
        int ended = 0;
        const auto won = firstSuccess([]() -> int { throw std::out_of_range("x"); },
                                      [] {
                                          thisFiber::yield();
                                          return 5;
                                      },
                                      Loser{&ended});
        EXPECT_EQ(won.index, 1u);
        EXPECT_EQ(won.value, 5);
        EXPECT_EQ(ended, 1);
        EXPECT_THROW(firstSuccess([] { throw std::out_of_range("x"); }, [] { throw std::logic_error("y"); }),
                     std::out_of_range);
    });
    EXPECT_EQ(captured.countAt(LogLevel::error), 0);
}

TEST(FirstSuccess, ThatIsInterruptedIsAborted) {
    inFiber([] {
        int ended = 0;
        EXPECT_EQ(outcome([&] { timeout(soon(), [&] { firstSuccess(Loser{&ended}, Loser{&ended}); }); }), timedOut());
        EXPECT_EQ(ended, 2);
    });
}

TEST(FirstSuccess, ThatIsInterruptedRethrowsWhatFailedOtherwise) {
    inFiber([] {
        int ended = 0;
        const auto interrupted = [&] {
            timeout(soon(), [&] { firstSuccess(Loser{&ended}, []() -> int { throw std::out_of_range("refused"); }); });
        };
        EXPECT_THROW(interrupted(), std::out_of_range);
        EXPECT_EQ(ended, 1);
    });
}

// A loser that fails while it cleans up.
struct FailsInCleanUp {
    int operator()() const {
        ErrorCode error;
        thisFiber::sleepFor(hours(1), error);
        throw std::runtime_error("the rollback failed");
    }
};

TEST(Race, AnExceptionOfALoserIsLogged) {
    const test::LogCapture captured;
    inFiber([] {
        int ended = 0;
        EXPECT_EQ(race([] { return 1; }, FailsInCleanUp(), Loser{&ended}).index, 0u);
    });
    EXPECT_EQ(captured.countAt(LogLevel::warning, "race", "the rollback failed"), 1);
    EXPECT_EQ(captured.count("the loser"), 0) << captured.text();
}

TEST(Collect, ThatIsInterruptedLogsTheExceptions) {
    const test::LogCapture captured;
    inFiber([] {
        int ended = 0;
        EXPECT_EQ(outcome([&] { timeout(soon(), [&] { collect(FailsInCleanUp(), Loser{&ended}); }); }), timedOut());
        EXPECT_EQ(ended, 1);
    });
    EXPECT_EQ(captured.countAt(LogLevel::warning, "collect", "the rollback failed"), 1);
    EXPECT_EQ(captured.count("the loser"), 0) << captured.text();
}

TEST(Collect, KeepsResultsAndExceptions) {
    inFiber([] {
        auto [one, failed, nothing] =
            collect([] { return 1; }, []() -> int { throw std::out_of_range("x"); }, [] { thisFiber::yield(); });
        EXPECT_EQ(one.get(), 1);
        EXPECT_TRUE(failed.failed());
        EXPECT_THROW(failed.get(), std::out_of_range);
        EXPECT_FALSE(nothing.failed());
    });
}

// --- policies

TEST(TaskScopePolicy, FirstSuccessCancelsTheOthersAndForgetsFailures) {
    test::LogCapture captured;
    inFiber([] {
        TaskScope scope(TaskScope::Policy::firstSuccess);
        int ended = 0;
        scope.spawn([] { throw std::out_of_range("x"); });
        scope.spawn(Loser{&ended});
        auto task = scope.spawn([] {
            thisFiber::yield();
            return 4;
        });
        scope.join();
        EXPECT_EQ(task.get(), 4);
        EXPECT_EQ(ended, 1);
    });
    EXPECT_EQ(captured.countAt(LogLevel::error), 0);
}

TEST(TaskScopePolicy, FirstSuccessThrowsIfAllFail) {
    inFiber([] {
        TaskScope scope(TaskScope::Policy::firstSuccess);
        scope.spawn([] { throw std::out_of_range("x"); });
        scope.spawn([] { throw std::logic_error("y"); });
        EXPECT_THROW(scope.join(), std::logic_error);  // either of them: out_of_range is one
    });
}

TEST(TaskScopePolicy, CollectLeavesExceptionsToTheOutcomes) {
    test::LogCapture captured;
    inFiber([] {
        TaskScope scope(TaskScope::Policy::collect);
        auto failed = scope.spawn([]() -> int { throw std::out_of_range("x"); });
        auto task = scope.spawn([] {
            thisFiber::yield();
            return 1;
        });
        scope.join();
        EXPECT_TRUE(failed.outcome().failed());
        EXPECT_EQ(task.outcome().get(), 1);
    });
    EXPECT_EQ(captured.countAt(LogLevel::error), 0);
}

}  // namespace
}  // namespace weft
