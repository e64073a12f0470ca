// Fibers that switch directly to the next one in the queue, without their carrier's main loop between.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include <weft/scheduler/carrier_group.hpp>
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

// The wait is refused before the fiber has left its stack: the fiber continues at the end of the queue.
TEST(DirectSwitch, AWaitThatIsOverBeforeTheSwitchLetsOthersRun) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    std::atomic<bool> cancelled{false};
    std::string order;
    auto waiter = carrier.spawn([&] {
        while (!cancelled) thisFiber::yield();
        carrier.spawnDetached([&] { order += "other "; });
        ErrorCode error;
        thisFiber::sleepUntil(never, error);
        order += error == operationAborted() ? "waiter" : "asleep";
    });
    waiter.cancel();
    cancelled = true;
    waiter.join();
    EXPECT_EQ(order, "other waiter");
}

// Such a destructor needs no place on the fiber's stack.
struct UsesAnotherStack {
    explicit UsesAnotherStack(bool& other) : other(&other), stack(__builtin_frame_address(0)) {}
    UsesAnotherStack(UsesAnotherStack&& from) noexcept : other(std::exchange(from.other, nullptr)), stack(from.stack) {}
    ~UsesAnotherStack() {
        if (other == nullptr) return;
        const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        const auto there = reinterpret_cast<std::uintptr_t>(stack);
        *other = std::max(here, there) - std::min(here, there) > StackPool::minimumSize && !thisFiber::isFiber();
    }
    bool* other;
    const void* stack;
};

TEST(DirectSwitch, TheDestructorOfAnUnjoinedResultRunsOutsideOfFibers) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    bool other = false;
    carrier
        .spawn([&] {
            carrier.spawnDetached([&] { return UsesAnotherStack(other); }, {.stackSize = StackPool::minimumSize});
            thisFiber::yield();
        })
        .join();
    EXPECT_TRUE(other);
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
