// Many fibers at once, and the failure of a spawn without memory for one more.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/sanitized.hpp"

#include <sys/resource.h>

namespace weft {
namespace {

CarrierOptions oneCarrier() {
    CarrierOptions options;
    options.carriers = 1;
    return options;
}

#ifdef WEFT_SANITIZED
constexpr std::size_t many = 5'000;  // the thread sanitizer supports some 8,000 contexts
#else
constexpr std::size_t many = 100'000;
#endif

std::size_t residentKiB() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.compare(0, 6, "VmRSS:") == 0) return std::stoul(line.substr(6));
    }
    return 0;
}

TEST(ManyFibers, AHundredThousandWaitAtOnceAndAllAreWoken) {
    CarrierGroup group(oneCarrier());
    Promise<int> promise;
    const Future<int> answer = promise.future();
    const std::size_t before = residentKiB();
    std::vector<JoinHandle<int>> fibers;
    fibers.reserve(many);
    for (std::size_t i = 0; i < many; ++i) fibers.push_back(group.spawn([&] { return answer.get(); }));
    while (group.carrier(0).stats().run < many) std::this_thread::yield();
    const std::size_t grown = residentKiB() - before;
#ifdef WEFT_SANITIZED
    static_cast<void>(grown);  // shadow memory
#else
    EXPECT_LT(grown, 8 * many) << "two pages each at most, in KiB";
#endif
    promise.setValue(7);
    std::size_t right = 0;
    for (auto& fiber : fibers) right += fiber.join() == 7;
    EXPECT_EQ(right, many);
    fibers.clear();
    EXPECT_EQ(group.carrier(0).stats().finished, many);
}

#ifndef WEFT_SANITIZED
// Runs in its own process, because the limit on address space stays in force.
void spawnUntilThereIsNoMemory() {
    CarrierGroup group(oneCarrier());
    group.spawn([] {}).join();
    const rlimit limit{1ul << 30, 1ul << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    Promise<void> promise;
    const Future<void> go = promise.future();
    std::vector<JoinHandle<void>> fibers;
    fibers.reserve(1000);
    bool refused = false;
    while (!refused && fibers.size() < 1000) {
        try {
            fibers.push_back(group.spawn([&] { go.await(); }, {.stackSize = StackPool::maximumSize}));
        } catch (const std::bad_alloc&) {
            refused = true;
        }
    }
    promise.setValue();
    const std::size_t spawned = fibers.size();
    for (auto& fiber : fibers) fiber.join();
    fibers.clear();
    group.spawn([] {}, {.stackSize = StackPool::maximumSize}).join();  // uses returned memory again
    std::_Exit(refused && spawned > 5 ? 0 : 1);
}

TEST(ManyFibersDeathTest, ASpawnWithoutMemoryThrowsAndTheCarrierGoesOn) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(spawnUntilThereIsNoMemory(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace weft
