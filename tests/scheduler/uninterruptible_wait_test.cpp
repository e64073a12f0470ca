// Suspension::parkUninterruptibly(): which wakes end it, and the effect of a cancellation or a shutdown meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/log_capture.hpp"
#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A wait whose key is passed to another thread.
class Resource {
  public:
    WakeReason waitUninterruptibly(WakeReason branch = WakeReason::resource) {
        Suspension wait("Resource::wait");
        key_ = wait.key(branch);
        published_.store(true, std::memory_order_release);
        return wait.parkUninterruptibly();
    }
    // Returns true if this call ended the wait.
    bool wake() {
        while (!published_.load(std::memory_order_acquire)) thisFiber::yield();
        return key_.wake();
    }

  private:
    WakeKey key_;
    std::atomic<bool> published_{false};
};

ErrorCode sleepsForAnHour() {
    ErrorCode error;
    thisFiber::sleepFor(hours(1), error);
    return error;
}

TEST(UninterruptibleWait, ACancellationIsRememberedForTheNextWait) {
    CarrierGroup group(test::oneCarrier());
    Resource resource;
    bool ended = false;
    group
        .spawn([&] {
            auto waiter = group.spawn([&] {
                EXPECT_EQ(resource.waitUninterruptibly(), WakeReason::resource);
                ended = true;
                return sleepsForAnHour();
            });
            thisFiber::yield();  // it has parked
            waiter.cancel();
            for (int i = 0; i < 3; ++i) thisFiber::yield();
            EXPECT_FALSE(ended);
            EXPECT_TRUE(resource.wake());
            EXPECT_EQ(waiter.join(), operationAborted());
        })
        .join();
}

TEST(UninterruptibleWait, OfAFiberThatHasBeenCancelledWaitsAllTheSame) {
    CarrierGroup group(test::oneCarrier());
    Resource resource;
    bool ended = false;
    group
        .spawn([&] {
            auto waiter = group.spawn([&] {
                EXPECT_EQ(sleepsForAnHour(), operationAborted());
                EXPECT_EQ(resource.waitUninterruptibly(), WakeReason::resource);
                ended = true;
                EXPECT_EQ(sleepsForAnHour(), operationAborted());
            });
            waiter.cancel();  // it has not run yet
            for (int i = 0; i < 4; ++i) thisFiber::yield();
            waiter.cancel();
            thisFiber::yield();
            EXPECT_FALSE(ended);
            EXPECT_TRUE(resource.wake());
            waiter.join();
        })
        .join();
}

TEST(UninterruptibleWait, InsideAShieldLeavesTheShieldAsItWas) {
    CarrierGroup group(test::oneCarrier());
    Resource resource;
    group
        .spawn([&] {
            auto waiter = group.spawn([&] {
                {
                    const CancellationShield shield;
                    EXPECT_EQ(resource.waitUninterruptibly(), WakeReason::resource);
                    ErrorCode error;
                    thisFiber::sleepFor(milliseconds(1), error);
                    EXPECT_EQ(error, ErrorCode());
                }
                return sleepsForAnHour();
            });
            thisFiber::yield();
            waiter.cancel();
            EXPECT_TRUE(resource.wake());
            EXPECT_EQ(waiter.join(), operationAborted());
        })
        .join();
}

TEST(UninterruptibleWait, AShutdownWaitsForItAndTheLogNamesTheCall) {
    const test::LogCapture log;
    CarrierGroup group(test::oneCarrier());
    Resource resource;
    std::atomic<bool> ended{false};
    auto waiter = group.spawn(
        [&] {
            EXPECT_EQ(resource.waitUninterruptibly(), WakeReason::resource);
            ended = true;
            return sleepsForAnHour();
        },
        {.name = "transfer"});
    group.spawn([] {}).join();  // the waiter has parked
    EXPECT_FALSE(group.shutdown(milliseconds(1)));
    EXPECT_TRUE(log.await("fiber 'transfer' of carrier", "is in an uninterruptible wait: Resource::wait"))
        << log.text();
    EXPECT_FALSE(ended);
    EXPECT_TRUE(resource.wake());
    EXPECT_TRUE(group.shutdown(seconds(60)));
    EXPECT_EQ(waiter.join(), operationAborted());
}

// The wait begins after the carrier's stop was requested.
TEST(UninterruptibleWait, DuringAShutdownWaitsAllTheSame) {
    CarrierGroup group(test::oneCarrier());
    Resource resource;
    std::atomic<bool> asleep{false};
    auto waiter = group.spawn([&] {
        asleep = true;
        EXPECT_EQ(sleepsForAnHour(), operationAborted());
        return resource.waitUninterruptibly(static_cast<WakeReason>(7));
    });
    while (!asleep) std::this_thread::yield();
    group.beginShutdown();
    EXPECT_TRUE(resource.wake());
    EXPECT_EQ(waiter.join(), static_cast<WakeReason>(7));
    EXPECT_TRUE(group.shutdown(seconds(60)));
}

TEST(UninterruptibleWait, AFiberThatOnlyRunsIsNamedWithItsLastWait) {
    const test::LogCapture log;
    CarrierGroup group(test::oneCarrier());
    std::atomic<bool> stop{false};
    std::atomic<bool> refused{false};
    group.carrier(0).spawnDetached(
        [&] {
            while (!stop) refused = sleepsForAnHour() == operationAborted();
        },
        {.name = "stubborn"});
    group.beginShutdown();
    while (!refused) std::this_thread::yield();
    EXPECT_FALSE(group.shutdown(milliseconds(1)));
    EXPECT_TRUE(log.await("fiber 'stubborn' of carrier", "ignores the shutdown; its last wait: thisFiber::sleep"))
        << log.text();
    stop = true;
    EXPECT_TRUE(group.shutdown(seconds(60)));
}

TEST(UninterruptibleWait, OfAPlainThreadEndsByItsKey) {
    Resource resource;
    std::thread waker([&] { EXPECT_TRUE(resource.wake()); });
    EXPECT_EQ(resource.waitUninterruptibly(static_cast<WakeReason>(9)), static_cast<WakeReason>(9));
    waker.join();
}

TEST(UninterruptibleWait, AWakeBeforeTheParkIsNotLost) {
    CarrierGroup group(test::oneCarrier());
    const auto waits = [] {
        Suspension wait("early");
        EXPECT_TRUE(wait.key().wake());
        return wait.parkUninterruptibly();
    };
    EXPECT_EQ(waits(), WakeReason::resource);
    EXPECT_EQ(group.spawn(waits).join(), WakeReason::resource);
}

// Cancellations and a shutdown race with the wake; every wait is ended by its own key.
TEST(UninterruptibleWait, NoRaceOfCancellationsAndTheShutdownEndsIt) {
    for (int round = 0; round < 50; ++round) {
        CarrierOptions options;
        options.carriers = 2;
        CarrierGroup group(options);
        constexpr int count = 8;
        std::vector<Resource> resources(count);
        std::vector<JoinHandle<WakeReason>> waiters;
        for (Resource& resource : resources) {
            waiters.push_back(group.spawn([&resource] { return resource.waitUninterruptibly(); }));
        }
        std::thread canceller([&] {
            for (auto& waiter : waiters) waiter.cancel();
            group.beginShutdown();
        });
        for (Resource& resource : resources) EXPECT_TRUE(resource.wake());
        canceller.join();
        for (auto& waiter : waiters) EXPECT_EQ(waiter.join(), WakeReason::resource);
    }
}

}  // namespace
}  // namespace weft
