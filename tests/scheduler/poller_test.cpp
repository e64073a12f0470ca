// Hosted pollers: the slot, the protocol, the end.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/hosted_loop.hpp"

namespace weft {
namespace {

// A poller that blocks on a condition variable; the flag makes its wake-up sticky.
struct BlockingPoller {
    std::atomic<bool> stop{false};
    std::atomic<int> blocked{0};
    std::atomic<int> wakeups{0};
    std::mutex lock;
    std::condition_variable signal;
    bool pending = false;

    void wakeup() {
        wakeups.fetch_add(1);
        std::lock_guard held(lock);
        pending = true;
        signal.notify_one();
    }
    void block(Deadline deadline) {
        std::unique_lock held(lock);
        blocked.fetch_add(1);
        const auto woken = [&] { return pending; };
        if (deadline == never) {
            signal.wait(held, woken);
        } else {
            signal.wait_until(held, deadline, woken);
        }
        pending = false;
    }
    void run(PinnedPoller& poller) {
        while (!stop && !poller.stopRequested()) {
            if (poller.tryParkPoller()) {
                if (poller.canParkPoller()) block(poller.parkDeadline());
                poller.unpark();
            }
            poller.maybeYield(false);
        }
    }
    Future<void> registerWith(Carrier& carrier) {
        return carrier.registerPinnedPoller([this] { wakeup(); }, [this](PinnedPoller& poller) { run(poller); });
    }
};

TEST(PinnedPoller, ASecondRegistrationIsRefusedAndTheSlotIsFreeAfterTheEnd) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    BlockingPoller first;
    auto ended = first.registerWith(carrier);
    BlockingPoller second;
    EXPECT_THROW(second.registerWith(carrier), std::logic_error);
    first.stop = true;
    carrier.spawn([] {}).join();
    ended.get();
    auto endedAgain = second.registerWith(carrier);
    second.stop = true;
    carrier.spawn([] {}).join();
    endedAgain.get();
}

TEST(PinnedPoller, TheFutureCarriesTheErrorOfTheBodyAndTheSlotIsFree) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    auto ended = carrier.registerPinnedPoller([] {}, [](PinnedPoller&) { throw std::runtime_error("unravelled"); });
    EXPECT_THROW(ended.get(), std::runtime_error);
    carrier.registerPinnedPoller([] {}, [](PinnedPoller&) {}).get();
    EXPECT_EQ(carrier.spawn([] { return 1; }).join(), 1);
}

TEST(PinnedPoller, ABodyThatThrowsWhileParkedLeavesARunningCarrier) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    auto ended = carrier.registerPinnedPoller([] {},
                                              [](PinnedPoller& poller) {
                                                  while (!poller.tryParkPoller()) poller.maybeYield(false);
                                                  throw std::runtime_error("asleep");
                                              });
    EXPECT_THROW(ended.get(), std::runtime_error);
    EXPECT_EQ(carrier.spawn([] { return 1; }).join(), 1);
}

TEST(PinnedPoller, EverySpawnReachesACarrierThatSleepsInItsPoller) {
    CarrierGroup group(test::oneCarrier());
    BlockingPoller poller;
    auto ended = poller.registerWith(group.carrier(0));
    group.carrier(0).spawn([] {}).join();
    const auto futexWakesBefore = group.carrier(0).stats().wakesFutex;  // before the poller was there
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(group.carrier(0).spawn([i] { return i; }).join(), i);
    EXPECT_GT(poller.blocked, 0);
    EXPECT_LE(poller.wakeups, poller.blocked.load() + 2000);
    ASSERT_TRUE(group.shutdown(std::chrono::seconds(10)));
    ended.get();
    EXPECT_EQ(group.carrier(0).stats().wakesFutex, futexWakesBefore);
    EXPECT_EQ(group.carrier(0).stats().wakesPoller, static_cast<std::uint64_t>(poller.wakeups.load()));
}

TEST(PinnedPoller, FibersSleepingOnTheCarrierAreWokenThroughParkDeadline) {
    CarrierGroup group(test::oneCarrier());
    BlockingPoller poller;
    auto ended = poller.registerWith(group.carrier(0));
    group.carrier(0).spawn([] { thisFiber::sleepFor(std::chrono::milliseconds(5)); }).join();
    ASSERT_TRUE(group.shutdown(std::chrono::seconds(10)));
    EXPECT_EQ(group.carrier(0).stats().timersFired, 1u);
}

// Behaviour 31: between tryParkPoller() and the blocking call the poller parks on something else; the carrier takes
// PARKED back, work submitted meanwhile runs, and canParkPoller() says no afterwards.
TEST(PinnedPoller, APollerDescheduledBetweenTryParkAndTheBlockingCallLosesNothing) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    Promise<void> latch;
    std::atomic<bool> parked{false};
    std::atomic<bool> couldPark{true};
    auto ended = carrier.registerPinnedPoller([] {},
                                              [&](PinnedPoller& poller) {
                                                  while (!poller.tryParkPoller()) poller.maybeYield(false);
                                                  parked = true;
                                                  latch.future().await();
                                                  couldPark = poller.canParkPoller();
                                                  poller.unpark();
                                              });
    while (!parked) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) ASSERT_EQ(carrier.spawn([i] { return i; }).join(), i);
    latch.setValue();
    ended.get();
    EXPECT_FALSE(couldPark);
    EXPECT_GT(carrier.stats().wakesFutex, 0u);  // it slept in the futex meanwhile, as a carrier without a poller does
}

TEST(PinnedPoller, ReRegistrationManyTimesAgainstASpawningThreadLosesNoWake) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    std::atomic<bool> done{false};
    std::atomic<int> ran{0};
    std::thread spawner([&] {
        for (int i = 0; i < 5000; ++i) carrier.spawn([&] { ran.fetch_add(1); }).join();
        done = true;
    });
    int registrations = 0;
    while (!done) {
        auto poller = std::make_unique<BlockingPoller>();  // freed as soon as the future says so (W10)
        auto ended = poller->registerWith(carrier);
        poller->stop = true;
        carrier.spawn([] {}).join();
        ended.get();
        ++registrations;
    }
    spawner.join();
    EXPECT_EQ(ran, 5000);
    EXPECT_GT(registrations, 0);
}

}  // namespace
}  // namespace weft
