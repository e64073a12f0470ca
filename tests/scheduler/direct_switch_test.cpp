// Fibers that switch directly to the next one in the queue, without their carrier's main loop between.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/loop_without_io.hpp"

namespace weft {
namespace {

TEST(DirectSwitch, KeepsTheOrderOfTheQueue) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    std::string order;
    carrier
        .spawn([&] {
            for (const char name : {'a', 'b', 'c'}) {
                carrier.spawnDetached([&order, name] {
                    order += name;
                    thisFiber::yield();
                    order += name;
                });
            }
            thisFiber::yield();
            order += '|';
            thisFiber::yield();
        })
        .join();
    EXPECT_EQ(order, "abc|abc");
}

// The stack of a fiber that has ended is free as soon as the next fiber runs.
TEST(DirectSwitch, FibersThatEndOneAfterAnotherUseTheSameStack) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    std::size_t most = 0;
    carrier
        .spawn([&] {
            const void* stacks[100] = {};
            for (const void*& stack : stacks) {
                carrier.spawnDetached([&stack] { stack = __builtin_frame_address(0); });
                thisFiber::yield();
            }
            std::sort(std::begin(stacks), std::end(stacks));
            most = static_cast<std::size_t>(std::unique(std::begin(stacks), std::end(stacks)) - std::begin(stacks));
        })
        .join();
    EXPECT_EQ(most, 1u);
}

// A waker that runs before the fiber has left its stack: the fiber continues at the end of the queue.
TEST(DirectSwitch, AWaitThatIsOverBeforeTheSwitchLetsOthersRun) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    std::string order;
    carrier
        .spawn([&] {
            carrier.spawnDetached([&] { order += "other "; });
            thisFiber::sleepUntil(TimePoint::min());
            order += "waiter";
        })
        .join();
    EXPECT_EQ(order, "other waiter");
}

TEST(DirectSwitch, EachSliceIsCounted) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    const auto slices = [&] { return carrier.stats().run; };
    const auto counted = carrier
                             .spawn([&] {
                                 const auto before = slices();
                                 for (int i = 0; i < 10; ++i) thisFiber::yield();
                                 return slices() - before;
                             })
                             .join();
    EXPECT_EQ(counted, 10u);
}

}  // namespace
}  // namespace weft
