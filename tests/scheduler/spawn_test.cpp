#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace weft {
namespace {

CarrierOptions carriers(unsigned n) {
    CarrierOptions options;
    options.carriers = n;
    return options;
}

TEST(Spawn, APlainThreadJoinsTheResultOfAFiber) {
    CarrierGroup group(carriers(1));
    EXPECT_EQ(group.carrier(0).spawn([] { return 42; }).join(), 42);
}

TEST(Spawn, AFiberJoinsAFiberOfItsOwnCarrier) {
    CarrierGroup group(carriers(1));
    auto outer = group.carrier(0).spawn([&] {
        auto inner = group.carrier(0).spawn([] {
            thisFiber::yield();
            return std::string("woven");
        });
        return inner.join() + "!";
    });
    EXPECT_EQ(outer.join(), "woven!");
}

TEST(Spawn, AFiberJoinsAFiberOfAnotherCarrier) {
    CarrierGroup group(carriers(2));
    auto outer = group.carrier(0).spawn([&] {
        int sum = 0;
        for (int i = 0; i < 1000; ++i) sum += group.carrier(1).spawn([i] { return i; }).join();
        return sum;
    });
    EXPECT_EQ(outer.join(), 499500);
}

TEST(Spawn, TheExceptionOfAFiberIsRethrownByJoin) {
    CarrierGroup group(carriers(1));
    auto handle = group.spawn([]() -> int { throw std::runtime_error("torn"); });
    EXPECT_THROW(handle.join(), std::runtime_error);
}

TEST(Spawn, ADroppedHandleLetsTheFiberRunOn) {
    CarrierGroup group(carriers(1));
    std::atomic<bool> ran{false};
    {
        auto handle = group.spawn([&] { ran = true; });
    }
    ASSERT_TRUE(group.shutdown(std::chrono::seconds(10)));
    EXPECT_TRUE(ran);
}

TEST(Spawn, AMoveOnlyClosureAndResultAreCarried) {
    CarrierGroup group(carriers(1));
    auto owned = std::make_unique<int>(7);
    auto handle = group.spawn([owned = std::move(owned)]() mutable { return std::move(owned); });
    EXPECT_EQ(*handle.join(), 7);
}

TEST(Spawn, FibersRunInTheOrderInWhichTheyWereSpawned) {
    CarrierGroup group(carriers(1));
    auto order = group.carrier(0)
                     .spawn([&] {
                         std::vector<int> seen;
                         std::vector<JoinHandle<void>> handles;
                         for (int i = 0; i < 1000; ++i)
                             handles.push_back(group.carrier(0).spawn([&seen, i] { seen.push_back(i); }));
                         for (auto& handle : handles) handle.join();
                         return seen;
                     })
                     .join();
    ASSERT_EQ(order.size(), 1000u);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

// The seed determines the order, and no fiber is lost or run twice, however full the queue is.
TEST(Spawn, AShuffledCarrierRunsAllInTheOrderOfItsSeed) {
    const auto orderOf = [](std::uint32_t seed) {
        CarrierOptions options = carriers(1);
        options.shuffleSeed = seed;
        CarrierGroup group(options);
        std::vector<int> order;
        group
            .spawn([&] {
                for (int i = 0; i < 1000; ++i) group.carrier(0).spawnDetached([&order, i] { order.push_back(i); });
            })
            .join();
        group.shutdown(std::chrono::seconds(60));
        return order;
    };
    const std::vector<int> first = orderOf(1);
    EXPECT_EQ(first, orderOf(1));
    EXPECT_NE(first, orderOf(2));
    EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
    std::vector<int> sorted = first;
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(sorted[static_cast<std::size_t>(i)], i);
}

TEST(Spawn, ManyThreadsSubmitAndNothingIsLost) {
    constexpr int submitters = 4;
    constexpr int each = 1500;  // all may be alive at once: the thread sanitizer supports 8,128 fibers and threads
    constexpr int all = submitters * each;
    CarrierGroup group(carriers(2));
    std::atomic<int> ran{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < submitters; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < each; ++i) group.next().spawnDetached([&] { ran.fetch_add(1); });
        });
    }
    for (auto& thread : threads) thread.join();
    ASSERT_TRUE(group.shutdown(std::chrono::seconds(20)));
    EXPECT_EQ(ran.load(), all);
    EXPECT_EQ(group.carrier(0).stats().spawned + group.carrier(1).stats().spawned, unsigned{all});
    EXPECT_EQ(group.carrier(0).stats().finished + group.carrier(1).stats().finished, unsigned{all});
}

TEST(Spawn, AStackSizeOutOfRangeIsRefusedWithTheRange) {
    CarrierGroup group(carriers(1));
    EXPECT_THROW(static_cast<void>(group.spawn([] {}, {.stackSize = 1})), std::length_error);
}

TEST(Spawn, IsRefusedAfterShutdown) {
    CarrierGroup group(carriers(1));
    ASSERT_TRUE(group.shutdown(std::chrono::seconds(10)));
    EXPECT_THROW(static_cast<void>(group.spawn([] {})), SystemError);
}

TEST(Sleep, NeverEndsEarlyAndSleepsOfOneCarrierOverlap) {
    CarrierGroup group(carriers(1));
    int asleep = 0;  // used only by the carrier's thread
    int mostAsleep = 0;
    const auto sleep = [&] {
        const auto begin = Clock::steady().now();
        mostAsleep = std::max(mostAsleep, ++asleep);
        thisFiber::sleepFor(std::chrono::milliseconds(20));
        --asleep;
        return Duration(Clock::steady().now() - begin);
    };
    group
        .spawn([&] {  // which spawns all before any runs
            std::vector<JoinHandle<Duration>> handles;
            for (int i = 0; i < 100; ++i) handles.push_back(spawn(sleep));
            for (auto& handle : handles) EXPECT_GE(handle.join(), std::chrono::milliseconds(20));
        })
        .join();
    EXPECT_GT(mostAsleep, 1);
}

TEST(Sleep, IsEndedByShutdownWithOperationAborted) {
    CarrierGroup group(carriers(1));
    std::atomic<bool> asleep{false};
    auto handle = group.spawn([&] {
        asleep = true;
        ErrorCode error;
        thisFiber::sleepFor(std::chrono::hours(1), error);
        return error;
    });
    while (!asleep) std::this_thread::yield();
    ASSERT_TRUE(group.shutdown(std::chrono::seconds(10)));
    EXPECT_EQ(handle.join(), operationAborted());
}

TEST(Sleep, DEC8a_AWaitThatBeginsDuringShutdownEndsAtOnce) {
    CarrierGroup group(carriers(1));
    std::atomic<bool> asleep{false};
    auto handle = group.spawn([&] {
        asleep = true;
        ErrorCode error;
        thisFiber::sleepFor(std::chrono::hours(1), error);
        int refused = error == operationAborted();
        for (int i = 0; i < 3; ++i) {
            thisFiber::sleepFor(std::chrono::hours(1), error);
            refused += error == operationAborted();
        }
        return refused;
    });
    while (!asleep) std::this_thread::yield();
    ASSERT_TRUE(group.shutdown(std::chrono::seconds(10)));
    EXPECT_EQ(handle.join(), 4);
}

TEST(Sleep, UntilATimeThatHasPassedOnlyYields) {
    CarrierGroup group(carriers(1));
    const TimePoint before = Clock::steady().now();
    group.spawn([&] { thisFiber::sleepUntil(before); }).join();
    group
        .spawn([&] {
            const TimePoint until = Clock::steady().now() + std::chrono::milliseconds(2);
            thisFiber::sleepUntil(until);
            EXPECT_GE(Clock::steady().now(), until);
        })
        .join();
}

TEST(CarrierLocals, AreMadeOncePerCarrierOnFirstUseAndEndWithIt) {
    struct Service {
        Service() { ++made(); }
        ~Service() { --made(); }
        static std::atomic<int>& made() {
            static std::atomic<int> count{0};
            return count;
        }
    };
    {
        CarrierGroup group(carriers(2));
        EXPECT_EQ(Service::made(), 0);
        const auto address = [&](unsigned index) {
            Carrier& carrier = group.carrier(index);
            return carrier.spawn([&] { return &carrier.local<Service>(); }, {.stealable = Stealable::never}).join();
        };
        EXPECT_EQ(address(0), address(0));
        EXPECT_NE(address(0), address(1));
        EXPECT_EQ(Service::made(), 2);
    }
    EXPECT_EQ(Service::made(), 0);
}

}  // namespace
}  // namespace weft
