// EventLoop: its tasks, its timers and its end, hosted by a carrier and embedded.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/manual_clock.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/log_capture.hpp"
#include "support/loop_without_io.hpp"

namespace weft {
namespace {

struct EventLoopTest : testing::Test, test::LoopWithoutIo {};

TEST_F(EventLoopTest, L1_TasksOfAThreadRunInItsOrderWhetherTheLoopSleepsOrNot) {
    struct Shared {
        std::binary_semaphore mayGoOn{0};
        std::vector<int> order;
    };
    const auto shared = std::make_shared<Shared>();  // owned by the tasks, which a defective loop may run later
    loop.execute([shared] { shared->mayGoOn.acquire(); });
    const auto note = [&](int i) { loop.execute([shared, i] { shared->order.push_back(i); }); };
    for (int i = 0; i < 2500; ++i) note(i);  // the loop finds all of them at once
    shared->mayGoOn.release();
    for (int i = 2500; i < 5000; ++i) note(i);
    inDispatch([] {});
    ASSERT_EQ(shared->order.size(), 5000u);
    EXPECT_TRUE(std::is_sorted(shared->order.begin(), shared->order.end()));
}

TEST_F(EventLoopTest, L1_ASubmitThatRacesWithGoingToSleepIsNeverLost) {
    for (int i = 0; i < 5000; ++i) inDispatch([] {});
}

TEST_F(EventLoopTest, L1_AWakeUpIsSentOncePerSleepAtMost) {
    for (int i = 0; i < 1000; ++i) inDispatch([] {});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; ++i) loop.execute([] {});
        });
    }
    for (auto& thread : threads) thread.join();
    loop.stop();
    ended.get();
    EXPECT_EQ(io().wakeups, carrier.stats().wakesPoller) << "every one of them ended a sleep, and no sleep had two";
}

// L-1, the budget for tasks: a task that posts itself for ever does not starve fibers and timers.
TEST_F(EventLoopTest, L1_TasksWithoutEndLetFibersAndTimersRun) {
    std::atomic<bool> stop{false};
    std::function<void()> again = [&] {
        if (!stop) loop.execute([&] { again(); });
    };
    inDispatch([&] { again(); });
    inFiber([] { thisFiber::sleepFor(std::chrono::milliseconds(1)); });
    stop = true;
    inDispatch([] {});  // runs after the last of them
}

TEST_F(EventLoopTest, E5_ATaskThatThrowsDoesNotEndTheLoop) {
    const test::LogCapture log;
    bool ran = false;
    loop.execute([] { throw std::runtime_error("a task's defect"); });
    loop.execute([&] { ran = true; });
    inDispatch([] {});
    EXPECT_TRUE(ran);
    EXPECT_EQ(log.count("a task's defect"), 1) << log.text();
}

TEST_F(EventLoopTest, DispatchIsNonSuspendingAndAFiberSpawnedThereMayBlock) {
    bool threw = false;
    Promise<int> answer;
    auto future = answer.future();
    inDispatch([&] {
        EXPECT_TRUE(loop.inEventLoop());
        EXPECT_EQ(EventLoop::current(), &loop);
        try {
            thisFiber::sleepFor(std::chrono::milliseconds(1));
        } catch (const BlockingOperationException&) {
            threw = true;
        }
        carrier.spawnDetached([&, answer = std::move(answer)]() mutable {
            EXPECT_TRUE(loop.inEventLoop());  // by carrier identity
            thisFiber::sleepFor(std::chrono::milliseconds(1));
            answer.setValue(7);
        });
    });
    EXPECT_EQ(future.get(), 7);
    EXPECT_TRUE(threw);
    EXPECT_FALSE(loop.inEventLoop());
}

TEST(EmbeddedLoop, L2_TimersRunInOrderOfDeadlineAndEqualOnesInOrderOfSubmission) {
    ManualClock clock;
    EventLoop loop(clock);
    std::vector<std::string> order;
    const auto note = [&](const char* name, int milliseconds) {
        loop.schedule([&order, name] { order.emplace_back(name); }, std::chrono::milliseconds(milliseconds));
    };
    note("4 first", 4);
    note("1 first", 1);
    note("4 second", 4);
    note("9", 9);
    note("4 third", 4);
    note("1 second", 1);
    clock.advance(std::chrono::milliseconds(20));
    loop.runTasks();
    EXPECT_EQ(order, (std::vector<std::string>{"1 first", "1 second", "4 first", "4 second", "4 third", "9"}));
}

TEST_F(EventLoopTest, L2_ACancelledTimerDoesNotRunWhicheverThreadCancelsIt) {
    std::atomic<int> ran{0};
    auto task = loop.schedule([&] { ran.fetch_add(1); }, std::chrono::hours(1));
    EXPECT_FALSE(task.done());
    EXPECT_TRUE(task.cancel());
    EXPECT_FALSE(task.cancel());
    EXPECT_TRUE(task.done());
    inDispatch([&] {
        auto inner = loop.schedule([&] { ran.fetch_add(1); }, Duration::zero());
        EXPECT_TRUE(inner.cancel());
        EXPECT_TRUE(carrier.timers().empty());
    });
    inDispatch([] {});
    EXPECT_EQ(ran, 0);
}

TEST_F(EventLoopTest, L2_ACancelledTimerLetsGoOfItsTask) {
    auto held = std::make_shared<int>(1);
    auto remote = loop.schedule([held] {}, std::chrono::hours(1));
    inDispatch([&] {
        auto local = loop.schedule([held] {}, std::chrono::hours(1));
        local.cancel();
    });
    remote.cancel();
    inDispatch([] {});
    EXPECT_EQ(held.use_count(), 1);
}

TEST_F(EventLoopTest, L2_APeriodicTaskRunsUntilItIsCancelled) {
    std::atomic<int> ran{0};
    auto task = loop.scheduleAtFixedRate([&] { ran.fetch_add(1); }, Duration::zero(), std::chrono::microseconds(100));
    while (ran < 5) std::this_thread::yield();
    EXPECT_TRUE(task.cancel());
    inDispatch([] {});
    const int after = ran;
    inDispatch([&] { EXPECT_TRUE(carrier.timers().empty()); });
    EXPECT_EQ(ran, after);
    EXPECT_THROW(loop.scheduleAtFixedRate([] {}, Duration::zero(), Duration::zero()), std::invalid_argument);
}

TEST_F(EventLoopTest, ExecuteAfterTheEndIsRefused) {
    loop.stop();
    ended.get();
    EXPECT_THROW(loop.execute([] {}), SystemError);
    EXPECT_THROW(loop.schedule([] {}, Duration::zero()), SystemError);
}

TEST_F(EventLoopTest, Netty15922_AStopThatRacesWithGoingToSleepEndsTheLoop) {
    loop.stop();
    ended.get();
    for (int i = 0; i < 500; ++i) {
        EventLoop again(carrier, std::make_unique<test::IdleIoHandler>());
        auto end = again.start();
        again.stop();
        end.get();
    }
}

TEST_F(EventLoopTest, BadOptionsAreNamedWithWhatIsAccepted) {
    const auto refusal = [&](EventLoop::Options options) {
        try {
            EventLoop refused(carrier, std::make_unique<test::IdleIoHandler>(), options);
        } catch (const std::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string("(accepted)");
    };
    EXPECT_EQ(refusal({.ioEvents = 0}), "EventLoop::Options: ioEvents is 0; accepted: 1 or more");
    EXPECT_EQ(refusal({.ioFibers = 0}), "EventLoop::Options: ioFibers is 0; accepted: 1 or more");
    EXPECT_EQ(refusal({.taskBudget = Duration(-5)}), "EventLoop::Options: taskBudget is -5 ns; accepted: 0 or more");
    EXPECT_EQ(refusal({.taskBudget = Duration::max()}), "(accepted)");
    EXPECT_THROW(EventLoop(carrier, nullptr), std::invalid_argument);
}

TEST(EmbeddedLoop, CountsItsFlushPoints) {
    ManualClock clock;
    EventLoop loop(clock);
    const std::uint64_t first = loop.flushPoints();
    loop.runFlushPoint();
    EXPECT_EQ(loop.flushPoints(), first + 1) << "nobody awaited it";
    EXPECT_GT(EventLoop(clock).flushPoints(), loop.flushPoints() + 1'000'000) << "no number of another loop";
}

TEST(EmbeddedLoop, RunsTasksAndTimersByHand) {
    ManualClock clock;
    EventLoop loop(clock);
    std::vector<int> order;
    loop.execute([&] { order.push_back(1); });
    loop.schedule([&] { order.push_back(3); }, std::chrono::seconds(1));
    loop.execute([&] { order.push_back(2); });
    EXPECT_EQ(loop.runTasks(), 2u);
    clock.advance(std::chrono::seconds(2));
    EXPECT_EQ(loop.runTasks(), 1u);
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace weft
