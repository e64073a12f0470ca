// Work stealing among many more carriers than CPUs. Other carriers do the work that waits behind a long slice, no
// carrier sleeps while there is work, and fibers of every kind end wherever they run.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include <weft/scheduler/future.hpp>
#include <weft/scheduler/task_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include <weft/testing/leak_guard.hpp>
#include "stress/stress.hpp"

namespace weft::stress {
namespace {

class HelpingStress : public test::LeakGuard {};

enum class Order { fifo, shuffled };  // of a carrier's runnable fibers

CarrierOptions helping(unsigned count, std::uint32_t seed, Order order) {
    CarrierOptions options = carriers(count);
    options.workStealing = true;
    options.stealAge = std::chrono::microseconds(seed % 3 * 50);  // none, or one of two that need the sentinel
    options.stealDepth = 1 + seed % 8;
    options.stackSize = 64 * 1024;
    if (order == Order::shuffled) options.shuffleSeed = seed;
    return options;
}

// Two carriers at a time stay in a slice until others have run what they spawned.
void helpIsNeeded(unsigned count, double share, Order order) {
    Noise noise(seed());
    const std::uint64_t total = rounds(share);
    constexpr std::uint64_t roundsOfAGroup = 50;
    std::uint64_t stolen = 0;
    for (std::uint64_t done = 0; done < total;) {
        CarrierGroup group(helping(count, noise.next(), order));
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
                            carrier.spawnDetached([&ran] { ran.fetch_add(1, std::memory_order_release); },
                                                  {.stealable = Stealable::fresh});
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
    EXPECT_GE(stolen, 2 * total);  // at least one for each busy carrier
}

TEST_F(HelpingStress, ThreeCarriersLeaveNothingBehindALongSlice) {
    helpIsNeeded(4, 0.02, Order::fifo);
}

TEST_F(HelpingStress, SixtyFourCarriersLeaveNothingBehindALongSlice) {
    helpIsNeeded(64, 0.005, Order::fifo);
}

TEST_F(HelpingStress, SixtyFourShuffledCarriersLeaveNothingBehindALongSlice) {
    helpIsNeeded(64, 0.005, Order::shuffled);
}

// Fibers that yield, join, and wait for each other and for their children, each stealable in one of the three ways.
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
                              .spawn(
                                  [this, &promises, i, before = std::move(before), seed = noise_.next(), how] {
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

// 64 carriers and at most 800 fibers of a mixture at a time: the thread sanitizer supports 8,128 of both together.
void everyKindEnds(Order order) {
    Noise noise(seed());
    const std::uint64_t total = rounds(0.001);
    for (std::uint64_t done = 0; done < total;) {
        CarrierGroup group(helping(64, noise.next(), order));
        Watchdog watchdog(group);
        Mixture mixture(group, noise.next());
        for (int round = 0; round < 10 && done < total; ++round, ++done) mixture.run(200);
    }
}

TEST_F(HelpingStress, FibersOfEveryKindEndOnSixtyFourCarriers) {
    everyKindEnds(Order::fifo);
}

TEST_F(HelpingStress, FibersOfEveryKindEndOnSixtyFourShuffledCarriers) {
    everyKindEnds(Order::shuffled);
}

// Groups stop while their fibers are being stolen. Each carrier ends, even if another one has taken its last guest.
void stopsWhileOthersSteal(unsigned count, double share, Order order) {
    Noise noise(seed());
    for (std::uint64_t left = rounds(share); left > 0; --left) {
        std::atomic<std::uint32_t> ended{0};
        std::uint32_t accepted = 0;
        {
            CarrierGroup group(helping(count, noise.next(), order));
            Watchdog watchdog(group);
            std::thread stopper([&group, pause = noise.next()] {
                Noise own(pause);
                own();
                group.beginShutdown();
            });
            try {
                for (; accepted < 200; ++accepted) {
                    group.carrier(noise.next() % 2)
                        .spawnDetached([&ended] { ended.fetch_add(1, std::memory_order_relaxed); },
                                       {.stealable = Stealable::fresh});
                }
            } catch (const SystemError&) {  // the carrier stops
            }
            stopper.join();
        }
        EXPECT_EQ(ended, accepted);
    }
}

TEST_F(HelpingStress, GroupsStopWhileTheirFibersAreStolen) {
    stopsWhileOthersSteal(4, 0.002, Order::fifo);
    stopsWhileOthersSteal(4, 0.002, Order::shuffled);
}

}  // namespace
}  // namespace weft::stress
