// Adding a duration to a time point does not overflow: the longest durations mean "for ever", not "at once".
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/manual_clock.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::years;

TEST(DeadlineAfter, IsTheSumOrTheNearestTimePointIfTheSumOverflows) {
    const TimePoint now{hours(1)};
    EXPECT_EQ(deadlineAfter(now, hours(2)), TimePoint(hours(3)));
    EXPECT_EQ(deadlineAfter(now, -hours(2)), TimePoint(-hours(1)));
    EXPECT_EQ(deadlineAfter(now, Duration::max()), never);
    EXPECT_EQ(deadlineAfter(now, Duration::max() - hours(1)), never) << "exactly the last one";
    EXPECT_EQ(deadlineAfter(now, Duration::max() - hours(2)), never - hours(1));
    EXPECT_EQ(deadlineAfter(now, Duration::min()), TimePoint(Duration::min() + hours(1)));
    EXPECT_EQ(deadlineAfter(TimePoint::min(), -Duration(1)), TimePoint::min());
    EXPECT_EQ(deadlineAfter(TimePoint::min(), Duration::max()), TimePoint(Duration(-1)));
    EXPECT_EQ(deadlineAfter(never, -hours(1)), never) << "never is not a point in time";
    EXPECT_EQ(deadlineAfter(Duration::max()), never);
}

TEST(DeadlineAfter, TimesInOtherUnitsAreConvertedWithoutOverflow) {
    EXPECT_EQ(saturated(years(300)), Duration::max());
    EXPECT_EQ(saturated(-years(300)), Duration::min());
    EXPECT_EQ(saturated(hours::max()), Duration::max());
    EXPECT_EQ(saturated(std::chrono::duration<int, std::ratio<3600>>(5)), hours(5));
    using Frames = std::chrono::duration<std::int64_t, std::ratio<1, 60>>;
    static_assert(saturated(Frames(30)) == std::chrono::milliseconds(500));
    EXPECT_EQ(saturated(Frames::max()), Duration::max());
    EXPECT_EQ(saturated(std::chrono::duration<std::uint64_t>(~std::uint64_t{0})), Duration::max());
    EXPECT_EQ(saturated(std::chrono::duration<double>(1e300)), Duration::max());
    EXPECT_EQ(saturated(std::chrono::duration<double>(-1e300)), Duration::min());
    EXPECT_EQ(saturated(std::chrono::duration<double>(0.5)), std::chrono::milliseconds(500));
    EXPECT_EQ(saturated(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())), Duration::zero());
    EXPECT_EQ(saturated(std::chrono::duration<std::int64_t, std::pico>(5'000)), Duration(5));
}

// Runs the task a bounded number of times: with a defective loop the task throws in the end, and a task that throws is
// not repeated.
int runsOfAPeriodOf(Duration period, bool fixedRate) {
    ManualClock clock;
    EventLoop loop(clock);
    int runs = 0;
    const auto task = [&] {
        if (++runs == 100) throw std::runtime_error("it runs again and again");
    };
    auto handle = fixedRate ? loop.scheduleAtFixedRate(task, Duration::zero(), period)
                            : loop.scheduleWithFixedDelay(task, Duration::zero(), period);
    loop.runTasks();
    clock.advance(hours(1000));
    loop.runTasks();
    EXPECT_TRUE(handle.cancel());
    return runs;
}

TEST(LongTimes, APeriodWithoutEndRunsOnce) {
    for (const Duration period : {Duration::max(), Duration::max() - Duration(1), Duration(years(291))}) {
        EXPECT_EQ(runsOfAPeriodOf(period, true), 1) << period.count();
        EXPECT_EQ(runsOfAPeriodOf(period, false), 1) << period.count();
    }
}

TEST(LongTimes, ATaskThatIsScheduledInThreeHundredYearsDoesNotRunToday) {
    ManualClock clock;
    EventLoop loop(clock);
    bool ran = false;
    loop.schedule([&] { ran = true; }, years(300));
    loop.scheduleAtFixedRate([&] { ran = true; }, years(300), years(300));
    loop.scheduleWithFixedDelay([&] { ran = true; }, hours::max(), hours::max());
    clock.advance(hours(1000));
    EXPECT_EQ(loop.runTasks(), 0u);
    EXPECT_FALSE(ran);
}

struct LongTimesOnALoop : testing::Test, test::LoopWithoutIo {};

TEST_F(LongTimesOnALoop, AFutureIsAwaitedForAsLongAsThereIsTime) {
    const auto outlasts = [this](auto time) {
        Promise<void> promise;
        std::atomic<bool> came{false};
        auto waiter = carrier.spawn([&, future = promise.future()] {
            const bool done = future.awaitFor(time);
            came = true;
            return done;
        });
        inFiber([] { thisFiber::yield(); });  // the waiter has run
        EXPECT_FALSE(came);
        promise.setValue();
        return waiter.join();
    };
    EXPECT_TRUE(outlasts(Duration::max()));
    EXPECT_TRUE(outlasts(years(300)));
    EXPECT_TRUE(outlasts(hours::max()));
    EXPECT_TRUE(outlasts(std::chrono::duration<double>(1e20)));
}

TEST_F(LongTimesOnALoop, AFiberSleepsUntilItIsCancelled) {
    const auto slept = [this](auto time) {
        auto sleeper = carrier.spawn([&] {
            ErrorCode error;
            thisFiber::sleepFor(time, error);
            return error;
        });
        inFiber([] { thisFiber::yield(); });
        sleeper.cancel();
        return sleeper.join();
    };
    EXPECT_EQ(slept(Duration::max()), operationAborted());
    EXPECT_EQ(slept(years(300)), operationAborted());
}

TEST(LongTimes, ALoopThatSpinsForEverDoesNotSleepAgain) {
    CarrierGroup group(test::oneCarrier());
    auto handler = std::make_unique<test::IdleIoHandler>();
    test::IdleIoHandler& io = *handler;
    EventLoop loop(group.carrier(0), std::move(handler), {.idleSpin = Duration::max()});
    auto ended = loop.start();
    const auto run = [&] {
        Promise<void> done;
        auto ran = done.future();
        loop.execute([&] { done.setValue(); });
        ran.await();
    };
    run();  // runs the first work; from now on the loop spins
    run();
    const int sleeps = io.sleeps;
    for (int i = 0; i < 100; ++i) run();
    EXPECT_EQ(io.sleeps, sleeps);
    loop.stop();
    ended.get();
}

}  // namespace
}  // namespace weft
