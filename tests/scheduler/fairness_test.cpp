// SCH-8: fibers, loop tasks and the poller each have a budget; none starves the others. The tests check the order of
// events, not times.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include <weft/scheduler/detail/slice_clock.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using std::chrono::milliseconds;

// Occupies the carrier without suspending.
void spinFor(Duration time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

struct FairnessTest : testing::Test, test::LoopWithoutIo {};

// Each fiber exceeds the budget alone, so the loop gets a turn between any two of them.
TEST_F(FairnessTest, SCH8_ATaskPostedByALongFiberRunsBeforeTheNextLongFiber) {
    std::vector<std::string> order;
    std::vector<JoinHandle<void>> fibers;
    inDispatch([&] {
        for (const char* name : {"a", "b", "c", "d"}) {
            fibers.push_back(carrier.spawn([this, &order, name] {
                spinFor(milliseconds(5));
                order.push_back(std::string("fiber ") + name);
                loop.execute([&order, name] { order.push_back(std::string("task of ") + name); });
            }));
        }
    });
    for (auto& fiber : fibers) fiber.join();
    inDispatch([] {});
    EXPECT_EQ(order, (std::vector<std::string>{"fiber a", "task of a", "fiber b", "task of b", "fiber c", "task of c",
                                               "fiber d", "task of d"}));
}

// The carrier notices each long fiber, however short the fibers before it were.
TEST_F(FairnessTest, SCH8_LongFibersAfterManyShortOnesAreNoticedOneByOne) {
    for (int i = 0; i < 100; ++i)
        inFiber([this] {
            for (int j = 0; j < 200; ++j) carrier.spawnDetached([] {});
            thisFiber::yield();
        });
    int fibersSinceTask = 0;
    int worst = 0;
    std::vector<JoinHandle<void>> fibers;
    inDispatch([&] {
        for (int i = 0; i < 20; ++i) {
            fibers.push_back(carrier.spawn([&] {
                spinFor(milliseconds(2));
                worst = std::max(worst, ++fibersSinceTask);
                loop.execute([&] { fibersSinceTask = 0; });
            }));
        }
    });
    for (auto& fiber : fibers) fiber.join();
    inDispatch([] {});  // runs after the last task
    EXPECT_EQ(worst, 1);
}

TEST_F(FairnessTest, SCH8_AFiberThatYieldsForEverLetsSleepersAndTasksRun) {
    std::atomic<bool> stop{false};
    auto busy = carrier.spawn([&] {
        while (!stop) thisFiber::yield();
    });
    inFiber([] { thisFiber::sleepFor(milliseconds(2)); });
    inDispatch([] {});
    stop = true;
    busy.join();
}

TEST_F(FairnessTest, SCH8_LongTasksLetAFiberRunBetweenThem) {
    std::vector<std::string> order;
    inDispatch([&] {
        for (int i = 0; i < 3; ++i) {
            loop.execute([&] {
                spinFor(milliseconds(2));
                order.emplace_back("task");
                carrier.spawnDetached([&] { order.emplace_back("fiber"); });
            });
        }
    });
    inDispatch([] {});
    inFiber([] {});
    EXPECT_EQ(order, (std::vector<std::string>{"task", "fiber", "task", "fiber", "task", "fiber"}));
}

TEST(SliceClock, IsNeverAheadOfTheSteadyClock) {
    detail::SliceClock clock;
    for (int i = 0; i < 2000; ++i) {
        const TimePoint begin = Clock::steady().now();
        clock.begin(begin, std::chrono::microseconds(i % 7));
        while (!clock.passed()) {
        }
        EXPECT_GE(Clock::steady().now() - begin, std::chrono::microseconds(i % 7));
    }
    clock.begin(Clock::steady().now(), Duration::max());
    EXPECT_FALSE(clock.passed());
    clock.begin(Clock::steady().now(), Duration::zero());
    EXPECT_TRUE(clock.passed());
}

constexpr milliseconds sliceBudget(16);
constexpr milliseconds tolerance(2);  // of the counter against the clock

// True if the thread ran between the readings of the clock and of the counter.
bool beginsAtOnce(detail::SliceClock& clock, TimePoint begin) {
    clock.begin(begin, sliceBudget);
    return Clock::steady().now() - begin < std::chrono::microseconds(50);
}

detail::SliceClock calibrated() {
    for (;;) {
        detail::SliceClock clock;
        const bool first = beginsAtOnce(clock, Clock::steady().now());
        spinFor(milliseconds(2));  // longer than the shortest measurement of the counter's rate
        if (beginsAtOnce(clock, Clock::steady().now()) && first) return clock;
    }
}

// Begins a budget; returns its end.
TimePoint beginBudget(detail::SliceClock& clock) {
    for (;;) {
        const TimePoint begin = Clock::steady().now();
        if (beginsAtOnce(clock, begin)) return begin + sliceBudget;
    }
}

// Asks after each slice until the clock says that the budget has passed; returns how often it should have said so
// before.
int lateAnswers(detail::SliceClock& clock, TimePoint end) {
    for (int late = 0;;) {
        spinFor(sliceBudget / 14);  // a long slice: more than a sixteenth
        const bool over = Clock::steady().now() >= end + tolerance;
        if (clock.passedAfterSlice()) {
            EXPECT_GE(Clock::steady().now(), end);
            return late;
        }
        if (over) ++late;
    }
}

TEST(SliceClock, NoticesTheEndAfterEachLongSliceAndAfterAFewShortOnes) {
    detail::SliceClock clock = calibrated();
    for (int i = 0; i < 10; ++i) {
        TimePoint end = beginBudget(clock);
        EXPECT_EQ(lateAnswers(clock, end), 0);

        end = beginBudget(clock);
        for (int j = 0; j < 100 && !clock.passedAfterSlice(); ++j) {
        }
        EXPECT_LE(lateAnswers(clock, end), 7);
    }
}

// Several times: a thread that was preempted at the end reads the counter after each slice anyway.
TEST(SliceClock, ABudgetThatHasPassedRemainsPassed) {
    detail::SliceClock clock = calibrated();
    for (int i = 0; i < 20; ++i) {
        beginBudget(clock);
        while (!clock.passedAfterSlice()) {
        }
        for (int j = 0; j < 20; ++j) EXPECT_TRUE(clock.passedAfterSlice());
    }
}

}  // namespace
}  // namespace weft
