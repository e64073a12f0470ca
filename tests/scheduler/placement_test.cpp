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

// Keeps a carrier in one slice.
class LongSlice {
  public:
    explicit LongSlice(Carrier& carrier) {
        carrier.spawnDetached([this] {
            begun_ = true;
            while (!released_) std::this_thread::yield();
            ended_ = true;
        });
        while (!begun_) std::this_thread::yield();
    }
    ~LongSlice() {
        released_ = true;
        while (!ended_) std::this_thread::yield();
    }

  private:
    std::atomic<bool> begun_{false};
    std::atomic<bool> released_{false};
    std::atomic<bool> ended_{false};
};

CarrierOptions twoCarriers(Duration yieldBudget) {
    CarrierOptions options;
    options.carriers = 2;
    options.workStealing = false;
    options.yieldBudget = std::chrono::duration_cast<std::chrono::microseconds>(yieldBudget);
    return options;
}

TEST(Placement, FibersThatACarrierHasNotTakenOverCountAsItsLoad) {
    CarrierGroup group(twoCarriers(std::chrono::milliseconds(20)));  // before that, the slice itself is no load
    std::atomic<bool> released{false};
    std::vector<JoinHandle<void>> yielding;
    std::vector<JoinHandle<void>> waiting;
    for (int i = 0; i < 5; ++i) {  // the queue that the other carrier shows
        yielding.push_back(group.carrier(1).spawn([&released] {
            while (!released) thisFiber::yield();
        }));
    }
    while (group.carrier(1).queuedFibers() < 5) std::this_thread::yield();
    {
        const LongSlice slice(group.carrier(0));
        for (int i = 0; i < 30; ++i) {
            Carrier& carrier = group.next();
            auto fiber = carrier.spawn([] {});
            if (&carrier == &group.carrier(0)) {
                waiting.push_back(std::move(fiber));
            } else {
                fiber.join();
            }
        }
        EXPECT_LE(waiting.size(), 12u);  // by the queues that they show it would be all
        EXPECT_GE(group.carrier(0).load(), waiting.size());
    }
    released = true;
    for (auto* fibers : {&waiting, &yielding}) {
        for (auto& fiber : *fibers) fiber.join();
    }
}

TEST(Placement, ACarrierInALongSliceGetsNoFibers) {
    CarrierGroup group(twoCarriers(std::chrono::microseconds(1)));
    {
        const LongSlice slice(group.carrier(0));
        while (group.carrier(0).load() < Carrier::aLongSlice) std::this_thread::yield();
        while (group.carrier(1).stats().parks == 0) std::this_thread::yield();
        for (int i = 0; i < 20; ++i) EXPECT_EQ(&group.next(), &group.carrier(1));
    }
    while (group.carrier(0).load() >= Carrier::aLongSlice) std::this_thread::yield();
}

}  // namespace
}  // namespace weft
