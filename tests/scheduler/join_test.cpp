// join() and waitUntil() on the carrier on which the joined fiber ends, where a plain flag replaces the completion
// protocol.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/fiber_dump.hpp>
#include <weft/scheduler/manual_clock.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using std::chrono::seconds;

bool waits(CarrierGroup& group, std::uint64_t fiber) {
    const FiberDump dump = group.fibers();
    const FiberInfo* const found = dump.find(fiber);
    return found != nullptr && found->state == FiberState::waiting;
}

TEST(JoinAtHome, AWaitThatTimesOutLeavesTheHandleToOtherThreads) {
    CarrierOptions options = test::oneCarrier();
    options.carriers = 2;
    CarrierGroup group(options);
    Carrier& carrier = group.carrier(0);
    std::atomic<bool> stop{false};
    auto joined = carrier.spawn([&] {
        while (!stop) thisFiber::yield();
        return 7;
    });
    EXPECT_FALSE(carrier.spawn([&] { return joined.waitUntil(deadlineAfter(std::chrono::milliseconds(1))); }).join());
    auto elsewhere = group.carrier(1).spawn([&] { return joined.join(); });
    while (!waits(group, elsewhere.id())) std::this_thread::yield();
    stop = true;
    EXPECT_EQ(elsewhere.join(), 7);
}

TEST(JoinAtHome, AfterAWaitTheFiberIsDoneAndCanBeJoined) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    const int result = carrier
                           .spawn([&] {
                               auto joined = carrier.spawn([] { return 7; });
                               EXPECT_FALSE(joined.done());
                               EXPECT_TRUE(joined.waitUntil(never));
                               EXPECT_TRUE(joined.done());
                               return joined.join();
                           })
                           .join();
    EXPECT_EQ(result, 7);
}

// The timer ends the wait, but the fiber ends before the waiter runs.
TEST(JoinAtHome, AFiberThatEndsAtTheDeadlineHasEnded) {
    ManualClock clock;
    CarrierOptions options = test::oneCarrier();
    options.clock = &clock;
    CarrierGroup group(options);
    Carrier& carrier = group.carrier(0);
    auto waiter = carrier.spawn([&] {
        const Deadline end = deadlineAfter(seconds(1));
        auto joined = carrier.spawn([end] { thisFiber::sleepUntil(end); });
        thisFiber::yield();  // its timer is armed first, so it runs first
        return joined.waitUntil(end);
    });
    while (!waits(group, waiter.id())) std::this_thread::yield();
    clock.advance(seconds(1) + std::chrono::milliseconds(1));  // timers may be late by a tick
    EXPECT_TRUE(waiter.join());
}

TEST(JoinAtHome, ACancelledWaitMayBeRepeated) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    std::atomic<bool> stop{false};
    auto joined = carrier.spawn([&] {
        while (!stop) thisFiber::yield();
        return 7;
    });
    auto waiter = carrier.spawn([&] { joined.waitUntil(never); });
    waiter.cancel();
    EXPECT_THROW(waiter.join(), SystemError);
    EXPECT_FALSE(joined.done());
    stop = true;
    EXPECT_EQ(carrier.spawn([&] { return joined.join(); }).join(), 7);
}

}  // namespace
}  // namespace weft
