// CarrierOptions::clock: the time of a group's fibers is the test's; no test here waits for real time.
#include <weft/scheduler/manual_clock.hpp>

#include <atomic>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/deadline_scope.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/sync/mutex.hpp>
#include <weft/scheduler/sync/select.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/loop_without_io.hpp"
#include "support/sanitized.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

CarrierOptions withClock(Clock& clock, unsigned carriers = 1) {
    CarrierOptions options;
    options.carriers = carriers;
    options.clock = &clock;
    return options;
}

// Returns once `count` fibers wait in this call.
void awaitWaiting(CarrierGroup& group, std::size_t count, std::string_view call) {
    for (;;) {
        std::size_t waiting = 0;
        const FiberDump dump = group.fibers(1min);
        for (const CarrierFibers& carrier : dump.carriers) {
            for (const FiberInfo& fiber : carrier.fibers) {
                waiting += fiber.state == FiberState::waiting && fiber.call != nullptr && fiber.call == call;
            }
        }
        if (waiting == count) return;
        std::this_thread::yield();
    }
}

TEST(OwnClock, ASleepEndsWhenTheClockHasAdvanced) {
    ManualClock clock;
    CarrierGroup group(withClock(clock, 2));
    std::atomic<int> ended{0};
    const auto sleepFor = [&](Duration time) {
        return [&ended, time] {
            thisFiber::sleepFor(time);
            ++ended;
        };
    };
    auto hour = group.carrier(0).spawn(sleepFor(1h));
    auto day = group.carrier(1).spawn(sleepFor(24h));
    awaitWaiting(group, 2, "thisFiber::sleepUntil");
    clock.advance(59min);
    awaitWaiting(group, 2, "thisFiber::sleepUntil");
    EXPECT_EQ(ended, 0);
    clock.advance(2min);
    hour.join();
    EXPECT_EQ(ended, 1);
    awaitWaiting(group, 1, "thisFiber::sleepUntil");
    clock.advance(24h);
    day.join();
    EXPECT_EQ(ended, 2);
}

TEST(OwnClock, ADeadlineScopeEndsItsWaitsWhenTheClockHasAdvanced) {
    ManualClock clock;
    CarrierGroup group(withClock(clock));
    auto fiber = group.spawn([] {
        ErrorCode first, second;
        const DeadlineScope scope(1h);
        thisFiber::sleepFor(24h, first);
        const bool requested = thisFiber::cancelRequested();
        thisFiber::sleepFor(24h, second);
        return first == operationAborted() && second == operationAborted() && requested && scope.timedOut();
    });
    awaitWaiting(group, 1, "thisFiber::sleepUntil");
    clock.advance(59min);
    awaitWaiting(group, 1, "thisFiber::sleepUntil");
    clock.advance(2min);
    EXPECT_TRUE(fiber.join());
}

TEST(OwnClock, WaitsWithATimeoutEndWhenTheClockHasAdvanced) {
    ManualClock clock;
    CarrierGroup group(withClock(clock));
    Promise<void> promise;
    sync::Mutex mutex;
    mutex.lock();
    auto future = group.spawn([&] { return promise.future().awaitFor(1h); });
    auto locked = group.spawn([&] { return mutex.try_lock_for(1h); });
    auto selected = group.spawn([&] {
        bool late = false;
        sync::select(sync::onDone(promise.future(), [](auto&&) {}),
                     sync::onDeadline(deadlineAfter(1h), [&] { late = true; }));
        return late;
    });
    awaitWaiting(group, 1, "Future::awaitUntil");
    awaitWaiting(group, 1, "sync::Mutex::try_lock_until");
    awaitWaiting(group, 1, "sync::select");
    clock.advance(61min);
    EXPECT_FALSE(future.join());
    EXPECT_FALSE(locked.join());
    EXPECT_TRUE(selected.join());
    mutex.unlock();
}

TEST(OwnClock, DeadlinesInFibersAreTimesOfTheGroupsClock) {
    ManualClock clock;
    CarrierGroup group(withClock(clock));
    EXPECT_EQ(&Clock::current(), &Clock::steady());
    EXPECT_EQ(&group.carrier(0).clock(), &clock);
    const TimePoint expected = deadlineAfter(clock.now(), 1h);
    EXPECT_EQ(group.spawn([] { return deadlineAfter(1h); }).join(), expected);
    EXPECT_EQ(group.spawn([] { return &Clock::current(); }).join(), &clock);
    CarrierGroup other(test::oneCarrier());
    EXPECT_EQ(other.spawn([] { return &Clock::current(); }).join(), &Clock::steady());
}

TEST(OwnClock, ATimerThatIsDueAtOnceNeedsNoAdvance) {
    ManualClock clock;
    CarrierGroup group(withClock(clock));
    group
        .spawn([&] {
            thisFiber::sleepFor(-1h);
            thisFiber::sleepUntil(clock.now() - 1h);
        })
        .join();
}

TEST(OwnClock, AfterAnAdvanceBeyondTheLatestTimeLaterSleepsStillEnd) {
    ManualClock clock;
    CarrierGroup group(withClock(clock));
    for (int round = 0; round < 3; ++round) {
        for (const Duration by : {Duration::max(), Duration(2h)}) {
            ASSERT_LT(deadlineAfter(clock.now(), 1h), never) << "a sleep that would not end";
            const TimePoint before = clock.now();
            auto sleeper = group.spawn([] { thisFiber::sleepFor(1h); });
            awaitWaiting(group, 1, "thisFiber::sleepUntil");
            clock.advance(by);
            sleeper.join();
            EXPECT_GT(clock.now(), before);
        }
    }
    ManualClock exact;
    exact.advance(never - exact.now() - 1ns);
    EXPECT_EQ(exact.now(), never - 1ns) << "only a time that would be `never` is changed";
}

#ifndef WEFT_SANITIZED
TEST(OwnClockDeathTest, AnAdvanceBackwardsIsRefusedWithItsValue) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ManualClock clock;
    clock.advance(0s);
    EXPECT_DEATH(clock.advance(-1us), "by is -1000 ns; accepted: 0 or more");
}
#endif

// The clock stands still in the middle of one of the steps in which the timers of the steady clock expire.
TEST(OwnClock, ADeadlineThatIsDueEndsTheWaitAlthoughTheClockStandsStill) {
    ManualClock clock;
    CarrierGroup group(withClock(clock));
    EventLoop loop(group.carrier(0), std::make_unique<test::IdleIoHandler>());
    Future<void> ended = loop.start();
    clock.advance(1ms);
    group
        .spawn([&] {
            Promise<void> never;
            const Future<void> future = never.future();
            for (const Duration time : {Duration(0), Duration(-1us), Duration(-1ms)}) {
                thisFiber::sleepFor(time);
                EXPECT_FALSE(future.awaitFor(time));
                EXPECT_FALSE(future.awaitUntil(clock.now() + time));
            }
            Promise<void> ran;
            loop.schedule([&ran] { ran.setValue(); }, 0s);
            ran.future().await();
            never.setValue();
        })
        .join();
    loop.stop();
    ended.get();
}

TEST(OwnClock, ATimerIsDueAtItsDeadlineAndNotBefore) {
    ManualClock clock;
    CarrierGroup group(withClock(clock));
    std::atomic<bool> woken{false};
    auto fiber = group.spawn([&] {
        thisFiber::sleepFor(1'000'001ns);
        woken = true;
    });
    awaitWaiting(group, 1, "thisFiber::sleepUntil");
    clock.advance(1'000'000ns);
    awaitWaiting(group, 1, "thisFiber::sleepUntil");
    EXPECT_FALSE(woken);
    clock.advance(1ns);
    fiber.join();
}

TEST(OwnClock, AnEventLoopRunsItsTimedTasksByTheGroupsClock) {
    ManualClock clock;
    CarrierGroup group(withClock(clock));
    EventLoop loop(group.carrier(0), std::make_unique<test::IdleIoHandler>());
    Future<void> ended = loop.start();
    EXPECT_EQ(&loop.clock(), &clock);
    Promise<void> ran;
    Promise<void> scheduled;
    loop.execute([&] {
        loop.schedule([&] { ran.setValue(); }, 1h);
        scheduled.setValue();
    });
    scheduled.future().await();
    EXPECT_FALSE(ran.future().done());
    clock.advance(1h + 1ms);
    ran.future().await();
    loop.stop();
    ended.await();
}

TEST(OwnClock, TheClockMayServeTwoGroupsAndOutliveOne) {
    ManualClock clock;
    CarrierGroup first(withClock(clock));
    {
        CarrierGroup second(withClock(clock));
        auto sleeper = second.spawn([] { thisFiber::sleepFor(1h); });
        awaitWaiting(second, 1, "thisFiber::sleepUntil");
        clock.advance(2h);
        sleeper.join();
    }
    auto sleeper = first.spawn([] { thisFiber::sleepFor(1h); });
    awaitWaiting(first, 1, "thisFiber::sleepUntil");
    clock.advance(2h);
    sleeper.join();
}

TEST(OwnClock, TheShutdownNeedsNoAdvance) {
    ManualClock clock;
    CarrierGroup group(withClock(clock, 2));
    auto sleeper = group.spawn([] {
        ErrorCode error;
        thisFiber::sleepFor(1h, error);
        return error;
    });
    awaitWaiting(group, 1, "thisFiber::sleepUntil");
    EXPECT_TRUE(group.shutdown(1min));
    EXPECT_EQ(sleeper.join(), operationAborted());
}

}  // namespace
}  // namespace weft
