// What a carrier with many fibers prefetches. That a prefetch has an effect is a matter of speed (docs/adr/0033); that
// it takes place is not: GCC drops calls of functions that do nothing else. Compiled with -O2 in every build.
#include <weft/scheduler/detail/prefetch.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/sync/semaphore.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "fiber_access.hpp"
#include "support/loop_without_io.hpp"
#include "support/sanitized.hpp"

namespace weft {
namespace {

// Whether a carrier with so many fibers prefetches when each of them resumes: the number of those that saw it.
std::size_t prefetching(std::size_t fibers) {
    std::atomic<std::size_t> seen{0};
    CarrierGroup group(test::oneCarrier());
    group
        .spawn([&] {
            sync::Semaphore gate(0);
            std::vector<JoinHandle<void>> waiting;
            for (std::size_t i = 0; i < fibers; ++i) {
                waiting.push_back(group.carrier(0).spawn([&] {
                    gate.acquire();
                    if (FiberAccess::prefetches(group.carrier(0))) ++seen;
                }));
            }
            while (gate.waiters() < fibers) thisFiber::yield();
            gate.release(fibers);
            for (auto& fiber : waiting) fiber.join();
        })
        .join();
    return seen;
}

TEST(Prefetch, ACarrierWithManyFibersPrefetches) {
    EXPECT_GE(prefetching(1000), 700u);  // as long as there are many
}

TEST(Prefetch, WithFewFibersNothingIsPrefetched) {
    EXPECT_EQ(prefetching(200), 0u);
}

#if defined(__x86_64__) && !defined(WEFT_SANITIZED)

[[gnu::noinline]] void onlyPrefetches(const void* from) {
    detail::prefetchLines(from, 3);
}
[[gnu::noinline]] int callsIt(const void* from) {
    onlyPrefetches(from);
    return 1;
}

// True if the code of a function contains these bytes near its beginning.
template <std::size_t Size>
bool contains(const void* function, const std::array<unsigned char, Size>& bytes) {
    const auto* const code = static_cast<const unsigned char*>(function);
    return std::search(code, code + 32, bytes.begin(), bytes.end()) != code + 32;
}

TEST(Prefetch, TheCompilerKeepsTheInstructionAndTheCall) {
    EXPECT_EQ(callsIt(nullptr), 1);
    EXPECT_TRUE(contains(reinterpret_cast<const void*>(&onlyPrefetches), std::array<unsigned char, 2>{0x0f, 0x18}));
    EXPECT_TRUE(contains(reinterpret_cast<const void*>(&callsIt), std::array<unsigned char, 1>{0xe8}));
}

#endif

}  // namespace
}  // namespace weft
