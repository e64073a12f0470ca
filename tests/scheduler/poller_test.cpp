// Hosted pollers: the slot, the protocol, the end, and the diagnosis of mistakes. A name with BEH tests a behaviour
// that the ancestor's tests require; docs/reference/rules.md lists them with their tests.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include <weft/testing/leak_guard.hpp>
#include <weft/testing/poller_bench.hpp>
#include "support/log_capture.hpp"
#include "support/loop_without_io.hpp"
#include "support/sample_pollers.hpp"

namespace weft {
namespace {

using test::ConditionPoller;

struct PinnedPollerTest : test::LeakGuard {
    CarrierGroup group{test::oneCarrier()};
    Carrier& carrier = group.carrier(0);

    // Waits until the carrier sleeps in its poller with nothing to do.
    void awaitAsleep() {
        const auto parks = carrier.spawn([this] { return carrier.stats().parks; }).join();
        while (carrier.stats().parks == parks) std::this_thread::yield();
    }
};

TEST_F(PinnedPollerTest, BEH18_ASecondRegistrationIsRefusedAndTheSlotIsFreeAfterTheEnd) {
    ConditionPoller first;
    auto ended = first.start(carrier);
    ConditionPoller second;
    try {
        second.start(carrier);
        ADD_FAILURE();
    } catch (const std::logic_error& error) {
        EXPECT_NE(std::string(error.what()).find(carrier.name()), std::string::npos) << error.what();
    }
    first.stop();
    ended.get();
    auto endedAgain = second.start(carrier);
    second.stop();
    endedAgain.get();
}

TEST_F(PinnedPollerTest, BEH15_ThePollerSlotIsFreeAfterTheLoopHasEnded) {
    for (int i = 0; i < 3; ++i) {
        EventLoop loop(carrier, std::make_unique<test::IdleIoHandler>());
        auto ended = loop.start();
        EXPECT_THROW(carrier.registerPinnedPoller([] {}, [](PinnedPoller&) {}), std::logic_error);
        Promise<bool> ran;
        auto here = ran.future();
        loop.execute([&] { ran.setValue(EventLoop::of(carrier) == &loop); });
        EXPECT_TRUE(here.get());
        loop.stop();
        ended.get();
        EXPECT_EQ(carrier.spawn([this] { return EventLoop::of(carrier); }).join(), nullptr);
    }
    carrier.registerPinnedPoller([] {}, [](PinnedPoller&) {}).get();
}

TEST_F(PinnedPollerTest, BEH16_TheFutureCompletesWhenTheBodyHasReturnedAndNotBefore) {
    Promise<void> leave;
    std::atomic<bool> returned{false};
    std::atomic<bool> completedEarly{false};
    auto ended = carrier.registerPinnedPoller([] {},
                                              [&](PinnedPoller&) {
                                                  leave.future().await();
                                                  returned = true;
                                              });
    std::atomic<bool> told{false};
    ended.addListener([&](const Future<void>&) {
        completedEarly = !returned;
        told = true;
    });
    carrier.spawn([] {}).join();
    EXPECT_FALSE(ended.done());
    leave.setValue();
    ended.get();
    while (!told) std::this_thread::yield();
    EXPECT_FALSE(completedEarly);
}

TEST_F(PinnedPollerTest, BEH17_TheFutureCarriesTheErrorOfTheBodyAndTheSlotIsFree) {
    const test::LogCapture log;
    auto ended = carrier.registerPinnedPoller([] {}, [](PinnedPoller&) { throw std::runtime_error("unravelled"); });
    EXPECT_THROW(ended.get(), std::runtime_error);
    EXPECT_EQ(log.count("the poller of carrier", carrier.name(), "unravelled"), 1) << log.text();
    carrier.registerPinnedPoller([] {}, [](PinnedPoller&) {}).get();
    EXPECT_EQ(carrier.spawn([] { return 1; }).join(), 1);
}

TEST_F(PinnedPollerTest, ABodyThatThrowsWhileParkedLeavesARunningCarrier) {
    const test::LogCapture log;
    for (const bool woken : {false, true}) {  // before and after a waker has ended the sleep
        std::atomic<bool> parked{false};
        std::atomic<int> wakeups{0};
        auto ended = carrier.registerPinnedPoller([&] { wakeups.fetch_add(1); },
                                                  [&](PinnedPoller& poller) {
                                                      while (!poller.tryParkPoller()) poller.maybeYield(false);
                                                      parked = true;
                                                      while (woken && poller.canParkPoller()) std::this_thread::yield();
                                                      throw std::runtime_error("asleep");
                                                  });
        while (!parked) std::this_thread::yield();
        EXPECT_EQ(carrier.spawn([] { return 1; }).join(), 1);
        EXPECT_THROW(ended.get(), std::runtime_error);
        EXPECT_LE(wakeups, 1);
        EXPECT_EQ(carrier.spawn([] { return 1; }).join(), 1);
    }
}

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

TEST_F(PinnedPollerTest, ReRegistrationManyTimesAgainstASpawningThreadLosesNoWake) {
    std::atomic<bool> done{false};
    std::atomic<int> ran{0};
    std::thread spawner([&] {
        for (int i = 0; i < 5000; ++i) carrier.spawn([&] { ran.fetch_add(1); }).join();
        done = true;
    });
    int registrations = 0;
    while (!done) {
        auto poller = std::make_unique<ConditionPoller>();  // freed as soon as the future has completed (SCH-10)
        auto ended = poller->start(carrier);
        poller->stop();
        ended.get();
        ++registrations;
    }
    spawner.join();
    EXPECT_EQ(ran, 5000);
    EXPECT_GT(registrations, 0);
}

// Diagnoses ----------------------------------------------------------------------------------------------------------

// Parks with a timer armed.
Deadline parkWithTimer(PinnedPoller& poller) {
    for (;;) {
        poller.carrier().spawnDetached([] { thisFiber::sleepFor(std::chrono::milliseconds(1)); });
        while (poller.maybeYield(false)) {
        }
        if (poller.parkDeadline() != never && poller.tryParkPoller()) return poller.parkDeadline();
    }
}

TEST_F(PinnedPollerTest, APollerThatSleepsPastParkDeadlineIsReported) {
    const test::LogCapture log;
    auto ended = carrier.registerPinnedPoller([] {},
                                              [](PinnedPoller& poller) {
                                                  const Deadline deadline = parkWithTimer(poller);
                                                  std::this_thread::sleep_until(  // the mistake itself
                                                      deadline + std::chrono::milliseconds(150));
                                                  poller.unpark();
                                              });
    ended.get();
    EXPECT_EQ(log.count("the poller of carrier", carrier.name(), "past parkDeadline()"), 1) << log.text();
}

// No fiber was late: the carrier itself fired the timers while its poller was descheduled.
TEST_F(PinnedPollerTest, APollerThatWasDescheduledPastParkDeadlineIsNotReported) {
    const test::LogCapture log;
    auto ended = carrier.registerPinnedPoller([] {},
                                              [](PinnedPoller& poller) {
                                                  const Deadline deadline = parkWithTimer(poller);
                                                  thisFiber::sleepUntil(deadline + std::chrono::milliseconds(150));
                                                  poller.unpark();
                                              });
    ended.get();
    EXPECT_EQ(log.count("parkDeadline()"), 0) << log.text();
}

// A wake without work, then no unpark(). The next sleep reports it, and every call of the wakeup still counts
// (otherwise the slot would never be free).
TEST_F(PinnedPollerTest, AForgottenUnparkIsReportedOnceAndDoesNoHarm) {
    const test::LogCapture log;
    std::atomic<int> parked{0};
    std::atomic<int> woken{0};
    auto ended = carrier.registerPinnedPoller([&] { woken.fetch_add(1); },
                                              [&](PinnedPoller& poller) {
                                                  for (int i = 1; i <= 3; ++i) {
                                                      while (!poller.tryParkPoller()) poller.maybeYield(false);
                                                      parked = i;
                                                      while (woken < i) std::this_thread::yield();
                                                  }
                                              });
    for (int i = 1; i <= 3; ++i) {
        while (parked < i) std::this_thread::yield();
        carrier.wakeIfParked();
    }
    ended.get();
    EXPECT_EQ(woken, 3);
    EXPECT_EQ(carrier.stats().wakesPoller, 3u);
    EXPECT_EQ(log.count("the poller of carrier", carrier.name(), "without unpark()"), 1) << log.text();
}

TEST_F(PinnedPollerTest, ABodyThatIgnoresTheShutdownIsNamed) {
    const test::LogCapture log;
    std::atomic<bool> begun{false};  // a fiber that has not begun is not named
    std::atomic<bool> stop{false};
    auto ended = carrier.registerPinnedPoller([] {},
                                              [&](PinnedPoller& poller) {
                                                  begun = true;
                                                  while (!stop) poller.maybeYield(false);
                                              },
                                              "stubborn");
    while (!begun) std::this_thread::yield();
    EXPECT_FALSE(group.shutdown(std::chrono::milliseconds(1)));
    EXPECT_TRUE(log.await("poller 'stubborn' of carrier", carrier.name(), "ignores the shutdown")) << log.text();
    stop = true;
    ended.get();
    EXPECT_TRUE(group.shutdown(std::chrono::seconds(60)));
}

// A body that blocks its thread in its own call, without parking, stops its whole carrier. From outside only one thing
// is known: the carrier does not end.
TEST_F(PinnedPollerTest, ABodyThatBlocksItsThreadIsReportedByTheShutdown) {
    const test::LogCapture log;
    std::mutex lock;
    std::condition_variable changed;
    bool blocking = false;
    bool release = false;
    auto ended = carrier.registerPinnedPoller([] {},
                                              [&](PinnedPoller&) {
                                                  std::unique_lock held(lock);
                                                  blocking = true;
                                                  changed.notify_all();
                                                  changed.wait(held, [&] { return release; });
                                              });
    auto fiber = [&] {
        std::unique_lock held(lock);
        changed.wait(held, [&] { return blocking; });
        return carrier.spawn([] {});  // runs after the blocked body
    }();
    EXPECT_FALSE(group.shutdown(std::chrono::milliseconds(1)));
    EXPECT_EQ(log.count("carrier", carrier.name(), "has not ended yet", "never suspends cannot be listed"), 1)
        << log.text();
    {
        std::lock_guard held(lock);
        release = true;
        changed.notify_all();
    }
    ended.get();
    fiber.join();
    EXPECT_TRUE(group.shutdown(std::chrono::seconds(60)));
}

}  // namespace
}  // namespace weft
