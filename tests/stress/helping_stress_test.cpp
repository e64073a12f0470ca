// Carriers that help each other, many more of them than CPUs: work behind a long slice is done while its carrier goes on with
// that, nobody sleeps over it, and fibers of every kind end wherever they run.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include <weft/scheduler/future.hpp>
#include <weft/scheduler/task_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "stress/stress.hpp"
#include <weft/testing/leak_guard.hpp>

namespace weft::stress {
namespace {

class HelpingStress : public test::LeakGuard {};

CarrierOptions helping(unsigned count, std::uint32_t seed) {
    CarrierOptions options = carriers(count);
    options.workStealing = true;
    options.stealAge = std::chrono::microseconds(seed % 3 * 50);  // none, and two that need the sentinel
    options.stealDepth = 1 + seed % 8;
    options.stackSize = 64 * 1024;
    return options;
}

// Two carriers at a time stay in a slice until others have done what they spawned.
void helpIsNeeded(unsigned count, double share) {
    Noise noise(seed());
    const std::uint64_t total = rounds(share);
    constexpr std::uint64_t roundsOfAGroup = 50;
    std::uint64_t stolen = 0;
    for (std::uint64_t done = 0; done < total;) {
        CarrierGroup group(helping(count, noise.next()));
        Watchdog watchdog(group);
        for (std::uint64_t round = 0; round < roundsOfAGroup && done < total; ++round, ++done) {
            std::vector<JoinHandle<void>> busy;
            for (int i = 0; i < 2; ++i) {
                Carrier& carrier = group.carrier(noise.next() % count);
                busy.push_back(carrier.spawn(
                    [&carrier, wanted = 1 + noise.next() % 40, pause = noise.next()] {
                        std::atomic<std::uint32_t> ran{0};
                        Noise own(pause);
                        for (std::uint32_t n = 0; n < wanted; ++n) {
                            carrier.spawnDetached([&ran] { ran.fetch_add(1, std::memory_order_release); });
                            own();
                        }
                        while (ran.load(std::memory_order_acquire) != wanted) std::this_thread::yield();
                    },
                    {.stealable = Stealable::never}));
            }
            for (auto& fiber : busy) fiber.join();
        }
        for (unsigned c = 0; c < count; ++c) stolen += group.carrier(c).stats().stolen;
    }
    EXPECT_GE(stolen, 2 * total);  // at least one for each that was busy
}

TEST_F(HelpingStress, ThreeCarriersLeaveNothingBehindALongSlice) {
    helpIsNeeded(4, 0.02);
}

TEST_F(HelpingStress, SixtyFourCarriersLeaveNothingBehindALongSlice) {
    helpIsNeeded(64, 0.005);
}

// Fibers that yield, join, wait for each other and for their children, each stealable in one of the three ways.
class Mixture {
  public:
    Mixture(CarrierGroup& group, std::uint32_t seed) : group_(group), noise_(seed) {}

    void run(unsigned fibers) {
        std::vector<JoinHandle<void>> all;
        std::vector<Promise<int>> promises(fibers);
        for (unsigned i = 0; i < fibers; ++i) {
            const auto how = static_cast<Stealable>(noise_.next() % 3);
            Future<int> before = promises[i == 0 ? 0 : i - 1].future();
            all.push_back(group_.carrier(noise_.next() % group_.size())
                              .spawn([this, &promises, i, before = std::move(before), seed = noise_.next(), how] {
                                  work(seed, how);
                                  if (i > 0 && seed % 2 == 0) before.get();
                                  promises[i].setValue(1);
                              },
                                     {.stealable = how}));
        }
        for (auto& fiber : all) fiber.join();
        EXPECT_EQ(ran_.exchange(0), fibers);
    }

  private:
    void work(std::uint32_t seed, Stealable how) {
        Noise noise(seed);
        Carrier* const home = thisFiber::carrier();
        for (unsigned yields = seed % 4; yields-- > 0;) {
            thisFiber::yield();
            noise();
        }
        if (seed % 5 == 0) {
            TaskScope scope;
            for (int child = 0; child < 3; ++child) scope.spawn([] { thisFiber::yield(); });
            scope.join();
        }
        if (seed % 7 == 0) home->spawn([] {}, {.stealable = how}).join();
        if (seed % 11 == 0) thisFiber::sleepFor(std::chrono::microseconds(seed % 50));
        EXPECT_EQ(thisFiber::carrier(), home);
        if (how != Stealable::any) thisFiber::goHome();
        ran_.fetch_add(1);
    }

    CarrierGroup& group_;
    Noise noise_;
    std::atomic<unsigned> ran_{0};
};

TEST_F(HelpingStress, FibersOfEveryKindEndOnSixtyFourCarriers) {
    Noise noise(seed());
    const std::uint64_t total = rounds(0.001);
    for (std::uint64_t done = 0; done < total;) {
        CarrierGroup group(helping(64, noise.next()));
        Watchdog watchdog(group);
        Mixture mixture(group, noise.next());
        for (int round = 0; round < 10 && done < total; ++round, ++done) mixture.run(200);
    }
}

}  // namespace
}  // namespace weft::stress
