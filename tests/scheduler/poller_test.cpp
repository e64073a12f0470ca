// Hosted pollers: the protocol of their sleep, and what fibers may do beside them. The slot and the end:
// poller_slot_test.cpp; mistakes: poller_diagnosis_test.cpp. A name with BEH tests a behaviour that the ancestor's
// tests require; docs/reference/rules.md lists them with their tests.
#include <weft/scheduler/carrier.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "scheduler/pinned_poller_bench.hpp"
#include "support/loop_without_io.hpp"
#include "support/sample_pollers.hpp"

namespace weft {
namespace {

using test::ConditionPoller;
using test::PinnedPollerTest;

// Each spawn that finds the carrier asleep in its poller costs one call of the wakeup and no futex wake (SCH-5). The
// poller "blocks" until its wakeup is called, as a system call would: canParkPoller() sees the work first.
TEST_F(PinnedPollerTest, EverySpawnReachesACarrierThatSleepsInItsPoller) {
    constexpr int rounds = 500;
    std::atomic<int> asleep{0};
    std::atomic<int> wakeups{0};
    std::atomic<std::uint64_t> futexWakes{0};
    std::atomic<bool> registered{false};  // the registration itself wakes the carrier, perhaps late
    auto ended = carrier.registerPinnedPoller([&] { wakeups.fetch_add(1); },
                                              [&](PinnedPoller& poller) {
                                                  while (!registered) poller.maybeYield(false);
                                                  futexWakes = carrier.stats().wakesFutex;  // before there was a poller
                                                  for (int i = 1; i <= rounds; ++i) {
                                                      while (!poller.tryParkPoller()) poller.maybeYield(false);
                                                      asleep = i;
                                                      while (wakeups < i) std::this_thread::yield();
                                                      poller.unpark();
                                                  }
                                              });
    registered = true;
    for (int i = 1; i <= rounds; ++i) {
        while (asleep < i) std::this_thread::yield();
        auto fiber = carrier.spawn([i] { return i; });
        EXPECT_EQ(wakeups, i);
        EXPECT_EQ(fiber.join(), i);
    }
    ended.get();
    EXPECT_EQ(carrier.stats().wakesFutex, futexWakes);
    EXPECT_EQ(carrier.stats().wakesPoller, static_cast<std::uint64_t>(rounds));
}

TEST_F(PinnedPollerTest, FibersSleepingOnTheCarrierAreWokenThroughParkDeadline) {
    ConditionPoller poller;
    auto ended = poller.start(carrier);
    carrier.spawn([] { thisFiber::sleepFor(std::chrono::milliseconds(5)); }).join();
    ASSERT_TRUE(group.shutdown(std::chrono::seconds(10)));
    ended.get();
    EXPECT_EQ(carrier.stats().timersFired, 1u);
}

TEST_F(PinnedPollerTest, BEH2_ATaskKnowsItsLoopAndAFiberOfTheCarrierIsInItToo) {
    EventLoop loop(carrier, std::make_unique<test::IdleIoHandler>());
    auto ended = loop.start();
    Promise<EventLoop*> seen;
    auto inTask = seen.future();
    loop.execute([&] { seen.setValue(EventLoop::current()); });
    EXPECT_EQ(inTask.get(), &loop);
    EXPECT_TRUE(carrier.spawn([&] { return loop.inEventLoop() && EventLoop::current() == nullptr; }).join());
    EXPECT_FALSE(loop.inEventLoop());
    EXPECT_EQ(EventLoop::current(), nullptr);
    loop.stop();
    ended.get();
}

// However busily a fiber uses its own carrier and loop, it sends no wake-up.
TEST_F(PinnedPollerTest, BEH4_WorkOfACarriersOwnFibersNeedsNoWakeUp) {
    EventLoop loop(carrier, std::make_unique<test::IdleIoHandler>());
    auto ended = loop.start();
    const auto& io = static_cast<test::IdleIoHandler&>(*loop.io());
    const auto wakeups = [&] { return io.wakeups.load(); };
    std::atomic<bool> spawned{false};  // the spawn itself wakes the carrier, perhaps late
    auto fiber = carrier.spawn([&] {
        while (!spawned) thisFiber::yield();
        const int before = wakeups();
        for (int i = 0; i < 100; ++i) {
            Promise<void> ran;
            auto done = ran.future();
            loop.execute([&] { carrier.spawnDetached([&] { ran.setValue(); }); });
            done.await();
            thisFiber::sleepFor(std::chrono::microseconds(20));  // the poller goes to sleep and returns by itself
        }
        EXPECT_EQ(wakeups(), before);
    });
    spawned = true;
    fiber.join();
    loop.stop();
    ended.get();
}

TEST_F(PinnedPollerTest, BEH8_AFiberMayEndItsOwnLoopAndGoOn) {
    EventLoop loop(carrier, std::make_unique<test::IdleIoHandler>());
    auto ended = loop.start();
    const int result = carrier
                           .spawn([&] {
                               loop.stop();
                               ended.await();
                               thisFiber::yield();
                               return carrier.spawn([] { return 8; }).join();
                           })
                           .join();
    EXPECT_EQ(result, 8);
}

// A poller's body is a fiber: while it waits, the other fibers and their timers run.
TEST_F(PinnedPollerTest, BEH9_WhileThePollerIsBlockedFibersRun) {
    Promise<void> latch;
    std::atomic<bool> blocked{false};
    auto ended = carrier.registerPinnedPoller([] {},
                                              [&](PinnedPoller&) {
                                                  blocked = true;
                                                  latch.future().await();
                                              });
    while (!blocked) std::this_thread::yield();
    EXPECT_EQ(carrier
                  .spawn([] {
                      thisFiber::sleepFor(std::chrono::milliseconds(1));
                      return 9;
                  })
                  .join(),
              9);
    carrier.spawn([&] { latch.setValue(); }).join();  // a fiber of the same carrier ends the wait
    ended.get();
}

TEST_F(PinnedPollerTest, BEH11_AThreadThatAFiberStartsBelongsToNoCarrier) {
    ConditionPoller poller;
    auto ended = poller.start(carrier);
    carrier
        .spawn([this] {
            EXPECT_EQ(thisFiber::carrier(), &carrier);
            std::thread([] {
                EXPECT_EQ(Carrier::current(), nullptr);
                EXPECT_EQ(thisFiber::carrier(), nullptr);
                EXPECT_FALSE(thisFiber::isFiber());
                EXPECT_EQ(EventLoop::current(), nullptr);
            }).join();
        })
        .join();
    poller.stop();
    ended.get();
}

// Without work stealing: the carrier sleeps in its futex, and no waker calls the wakeup of a descheduled poller
// (SCH-5).
TEST_F(PinnedPollerTest, BEH28_BEH30_TheCarrierOfADescheduledPollerSleepsAndIsWokenWithoutIt) {
    Promise<void> latch;
    std::atomic<int> wakeups{0};
    std::atomic<bool> descheduled{false};
    auto ended = carrier.registerPinnedPoller([&] { wakeups.fetch_add(1); },
                                              [&](PinnedPoller&) {
                                                  descheduled = true;
                                                  latch.future().await();
                                              });
    while (!descheduled) std::this_thread::yield();
    const auto before = carrier.stats();
    for (int i = 0; i < 100; ++i) {
        awaitAsleep();
        ASSERT_EQ(carrier.spawn([i] { return i; }).join(), i);
    }
    EXPECT_GE(carrier.stats().wakesFutex, before.wakesFutex + 100);
    EXPECT_EQ(carrier.stats().wakesPoller, before.wakesPoller);
    EXPECT_EQ(wakeups, 0);
    latch.setValue();
    ended.get();
}

// Behaviour 31: the poller parks on something else between tryParkPoller() and the blocking call. The carrier reverts
// PARKED, runs work submitted meanwhile, and canParkPoller() returns false afterwards.
TEST_F(PinnedPollerTest, BEH31_APollerDescheduledBetweenTryParkAndTheBlockingCallLosesNothing) {
    Promise<void> latch;
    std::atomic<bool> parked{false};
    std::atomic<bool> couldPark{true};
    std::atomic<int> wakeups{0};
    auto ended = carrier.registerPinnedPoller([&] { wakeups.fetch_add(1); },
                                              [&](PinnedPoller& poller) {
                                                  while (!poller.tryParkPoller()) poller.maybeYield(false);
                                                  parked = true;
                                                  latch.future().await();
                                                  couldPark = poller.canParkPoller();
                                                  poller.unpark();
                                              });
    while (!parked) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) {
        awaitAsleep();
        ASSERT_EQ(carrier.spawn([i] { return i; }).join(), i);
    }
    latch.setValue();
    ended.get();
    EXPECT_FALSE(couldPark);
    EXPECT_GT(carrier.stats().wakesFutex, 0u);  // meanwhile it slept in the futex, as a carrier without a poller does
    EXPECT_LE(wakeups, 1) << "one spawn may have come before the poller was descheduled";
}

// The answer may become false at any time, so the poller asks last: work that arrives between the two calls counts.
TEST_F(PinnedPollerTest, CanParkPollerReturnsFalseOnceWorkHasArrived) {
    std::atomic<bool> parked{false};
    std::atomic<bool> spawned{false};
    std::atomic<int> wakeups{0};
    std::atomic<bool> registered{false};  // the registration itself wakes the carrier, perhaps late
    bool before = false;
    bool after = true;
    auto ended = carrier.registerPinnedPoller([&] { wakeups.fetch_add(1); },
                                              [&](PinnedPoller& poller) {
                                                  while (!registered) poller.maybeYield(false);
                                                  while (!poller.tryParkPoller()) poller.maybeYield(false);
                                                  before = poller.canParkPoller();
                                                  parked = true;
                                                  while (!spawned) std::this_thread::yield();
                                                  after = poller.canParkPoller();
                                                  poller.unpark();
                                              });
    registered = true;
    while (!parked) std::this_thread::yield();
    auto fiber = carrier.spawn([] {});
    spawned = true;
    fiber.join();
    ended.get();
    EXPECT_TRUE(before);
    EXPECT_FALSE(after);
    EXPECT_EQ(wakeups, 1);
}

}  // namespace
}  // namespace weft
