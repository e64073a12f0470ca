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

#include "support/loop_without_io.hpp"
#include "support/sanitized.hpp"

namespace weft {
namespace {

struct Calls {
    std::atomic<int> held{0};
    std::atomic<int> referred{0};
};

// Waits twice, and counts the prefetches of its closure.
struct Counted {
    Calls* calls;
    sync::Semaphore* gate;
    void operator()() const {
        gate->acquire();
        gate->acquire();
    }
    void prefetch(detail::PrefetchStep step) const noexcept {
        ++(step == detail::PrefetchStep::held ? calls->held : calls->referred);
    }
};

// Runs so many fibers at once; each is resumed twice.
void run(std::size_t fibers, Calls& calls) {
    CarrierGroup group(test::oneCarrier());
    group
        .spawn([&] {
            sync::Semaphore gate(0);
            std::vector<JoinHandle<void>> waiting;
            for (std::size_t i = 0; i < fibers; ++i) waiting.push_back(group.carrier(0).spawn(Counted{&calls, &gate}));
            while (gate.waiters() < fibers) thisFiber::yield();
            gate.release(2 * fibers);
            for (auto& fiber : waiting) fiber.join();
        })
        .join();
}

TEST(Prefetch, ACarrierWithManyFibersPrefetchesWhatTheNextOneUses) {
    Calls calls;
    run(1000, calls);
    EXPECT_GE(calls.held, 700);  // as long as there are many
    EXPECT_GE(calls.referred, 700);
}

TEST(Prefetch, WithFewFibersNothingIsPrefetched) {
    Calls calls;
    run(200, calls);
    EXPECT_EQ(calls.held, 0);
    EXPECT_EQ(calls.referred, 0);
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
