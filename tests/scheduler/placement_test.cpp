// The placement of work that may begin on any carrier.
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/detail/two_choices.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace weft {
namespace {

TEST(TwoChoices, EqualLoadsAreServedInTurn) {
    for (std::uint32_t turn = 0; turn < 100; ++turn) {
        EXPECT_EQ(detail::betterOfTwo(turn, 7, [](std::size_t) { return 3; }), turn % 7);
    }
    EXPECT_EQ(detail::betterOfTwo(~0u, 1, [](std::size_t) { return 3; }), 0u);
}

TEST(TwoChoices, TheSecondCandidateIsAnyPlaceButTheFirst) {
    std::set<std::size_t> chosen;
    for (std::uint32_t turn = 0; turn < 7000; turn += 7) {
        const std::size_t other = detail::betterOfTwo(turn, 7, [](std::size_t place) { return place == 0 ? 1 : 0; });
        EXPECT_NE(other, 0u);
        chosen.insert(other);
    }
    EXPECT_EQ(chosen.size(), 6u);
}

TEST(Placement, FibersWithoutAHomeGoPastALongQueue) {
    CarrierOptions options;
    options.carriers = 2;
    options.workStealing = false;
    options.yieldBudget = std::chrono::microseconds(1);  // checks the queue after each slice
    std::atomic<bool> release{false};
    std::atomic<int> waiting{0};
    CarrierGroup group(options);  // destroyed before what its fibers use
    group.carrier(0)
        .spawn([&] {
            for (int i = 0; i < 100; ++i) {
                thisFiber::carrier()->spawnDetached([&] {
                    ++waiting;
                    while (!release) std::this_thread::yield();
                });
            }
        })
        .join();
    while (waiting == 0) std::this_thread::yield();
    ASSERT_EQ(group.carrier(0).queuedFibers(), 100u);
    for (int i = 0; i < 40; ++i) EXPECT_EQ(group.spawn([] { return thisFiber::carrier(); }).join(), &group.carrier(1));
    release = true;
}

}  // namespace
}  // namespace weft
