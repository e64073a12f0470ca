// Lifetimes: a handle may outlive its group, a timed task its loop, and a waker's call the work that it submitted.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include <weft/scheduler/detail/outstanding.hpp>
#include <weft/scheduler/manual_clock.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/log_capture.hpp"
#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using std::chrono::hours;

TEST(Lifetime, DEC8a_AJoinHandleMayOutliveItsGroup) {
    JoinHandle<std::string> kept;
    JoinHandle<void> dropped;
    {
        CarrierGroup group(test::oneCarrier());
        kept = group.spawn([] { return std::string("a result that is longer than any inline buffer"); });
        dropped = group.spawn([] {});
    }
    EXPECT_TRUE(kept.done());
    EXPECT_EQ(kept.join(), "a result that is longer than any inline buffer");
}

TEST(Lifetime, ASleeperThatTheShutdownEndsIsNoErrorAndAnotherExceptionIs) {
    const test::LogCapture log;
    {
        CarrierGroup group(test::oneCarrier());
        group.carrier(0).spawnDetached([] { thisFiber::sleepFor(hours(1)); }, {.name = "sleeper"});
        group.spawn([] { thisFiber::sleepFor(hours(1)); }, {.name = "dropped"}).detach();
        group.carrier(0).spawnDetached([] { throw std::runtime_error("a bug"); }, {.name = "faulty"});
        group.carrier(0).spawn([] {}).join();
    }
    EXPECT_EQ(log.countAt(LogLevel::debug, "'sleeper'"), 1) << log.text();
    EXPECT_EQ(log.countAt(LogLevel::debug, "'dropped'"), 1) << log.text();
    EXPECT_EQ(log.countAt(LogLevel::error, "'faulty'", "a bug"), 1) << log.text();
    EXPECT_EQ(log.countAt(LogLevel::error, ""), 1) << log.text();
}

// The leak guard of every test counts the stacks.
TEST(Lifetime, AKeptJoinHandleKeepsItsFibersStackAndNothingElseDoes) {
    const auto stacks = [] { return detail::outstanding.stacks.load(); };
    const std::int64_t before = stacks();
    JoinHandle<int> joined;
    JoinHandle<int> dropped;
    {
        CarrierGroup group(test::oneCarrier());
        joined = group.spawn([] { return 1; });
        dropped = group.spawn([] { return 2; });
        group.carrier(0).spawnDetached([] {});
    }
    EXPECT_EQ(stacks(), before + 2);
    EXPECT_EQ(joined.join(), 1);
    EXPECT_EQ(stacks(), before + 1);
    dropped.detach();
    EXPECT_EQ(stacks(), before);
}

// The promise releases the fiber, its group and everything else while the thread that completed it is still returning.
TEST(Lifetime, V1_TheCarrierStaysUntilTheThreadThatWokeItIsGone) {
    for (int i = 0; i < 300; ++i) {
        Promise<void> promise;
        auto group = std::make_unique<CarrierGroup>(test::oneCarrier());
        auto waiting = group->spawn([future = promise.future()] { future.await(); });
        std::thread waker([promise = std::move(promise)]() mutable { promise.setValue(); });
        waiting.join();
        group.reset();
        waker.join();
    }
}

TEST(Lifetime, V1_TheThreadThatPostsTheTaskThatEndsTheLoopMayReturnLast) {
    for (int i = 0; i < 300; ++i) {
        auto group = std::make_unique<CarrierGroup>(test::oneCarrier());
        auto loop = std::make_unique<EventLoop>(group->carrier(0), std::make_unique<test::IdleIoHandler>());
        Future<void> ended = loop->start();
        std::thread poster([&posted = *loop] { posted.execute([&posted] { posted.stop(); }); });
        ended.get();
        loop.reset();
        group.reset();
        poster.join();
    }
}

TEST(Lifetime, AScheduledTaskMayBeCancelledAfterItsLoopIsGone) {
    auto held = std::make_shared<int>(1);
    ScheduledTask armed;
    ScheduledTask neverArmed;
    {
        std::optional<test::LoopWithoutIo> host(std::in_place);
        armed = host->loop.schedule([held] {}, hours(1));
        host->inDispatch([] {});
    }
    {
        ManualClock clock;
        EventLoop embedded(clock);
        // Posted by another thread; no thread drives the loop any more.
        std::thread([&] { neverArmed = embedded.schedule([held] {}, hours(1)); }).join();
    }
    EXPECT_EQ(held.use_count(), 1);
    for (ScheduledTask* task : {&armed, &neverArmed}) {
        EXPECT_TRUE(task->done());
        EXPECT_FALSE(task->cancel());
    }
}

TEST(Lifetime, AScheduledTaskCancelledWhileItsLoopEndsIsLetGoOfOnce) {
    for (int i = 0; i < 300; ++i) {
        auto held = std::make_shared<int>(1);
        std::optional<test::LoopWithoutIo> host(std::in_place);
        ScheduledTask task = host->loop.schedule([held] {}, hours(1));
        std::thread canceller([&] { task.cancel(); });
        host.reset();
        canceller.join();
        EXPECT_TRUE(task.done());
        EXPECT_EQ(held.use_count(), 1);
    }
}

}  // namespace
}  // namespace weft
