// The cost of fiber stacks and their guards: memory that idle stacks keep, the size of the guard, and the location of
// the closure.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "fiber_access.hpp"
#include "support/sanitized.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace weft {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t touched = 32 * 1024;

CarrierOptions oneCarrier() {
    CarrierOptions options;
    options.carriers = 1;
    return options;
}

bool isResident(std::uintptr_t address) {
    unsigned char resident = 0;
    EXPECT_EQ(::mincore(reinterpret_cast<void*>(address & ~(page - 1)), page, &resident), 0);
    return (resident & 1) != 0;
}

[[maybe_unused]] std::size_t residentOf(const std::vector<std::uintptr_t>& pages) {
    std::size_t count = 0;
    for (const std::uintptr_t address : pages) count += isResident(address);
    return count;
}

// The address of a page that the calling fiber has touched, `touched` bytes down its stack.
[[maybe_unused, gnu::noinline]] std::uintptr_t touchTheStack() {
    volatile char frame[touched];
    for (std::size_t i = 0; i < touched; i += page) frame[i] = 1;
    std::uintptr_t lowest = 0;  // through a register: clang refuses to return the address of a local variable
    asm volatile("" : "=r"(lowest) : "0"(&frame[0]));
    return lowest;
}

#ifndef WEFT_SANITIZED
TEST(StackMemory, AnIdleCarrierReturnsWhatItsFibersHaveTouchedAboveTheLimits) {
    constexpr std::size_t many = 2000;
    CarrierOptions options = oneCarrier();
    options.cachedStacks = 64;
    CarrierGroup group(options);
    std::vector<std::uintptr_t> pages(many);
    std::vector<JoinHandle<void>> fibers;
    Promise<void> all;
    std::atomic<std::size_t> waiting{0};
    for (std::size_t i = 0; i < many; ++i) {
        fibers.push_back(group.spawn([&, i, future = all.future()] {
            pages[i] = touchTheStack();
            ++waiting;
            future.await();
        }));
    }
    while (waiting != many) std::this_thread::yield();
    EXPECT_EQ(residentOf(pages), many);
    all.setValue();
    for (auto& fiber : fibers) fiber.join();
    fibers.clear();
    // The carrier's cache, and 16 MiB of stacks of 256 KiB in the pool.
    const std::size_t kept = options.cachedStacks + 64;
    while (residentOf(pages) > kept) std::this_thread::yield();
}

TEST(StackMemory, ThreadsThatAreNoCarriersReturnTheMemoryAtOnce) {
    constexpr std::size_t many = 500;
    std::vector<std::uintptr_t> pages(many);
    std::vector<JoinHandle<int>> kept;
    {
        CarrierGroup group(oneCarrier());
        for (std::size_t i = 0; i < many; ++i) {
            kept.push_back(group.spawn([&pages, i] {
                pages[i] = touchTheStack();
                return 1;
            }));
        }
        ASSERT_TRUE(group.shutdown(std::chrono::minutes(1)));
        EXPECT_EQ(residentOf(pages), many);  // a kept handle keeps the stack
        kept.erase(kept.begin() + 1, kept.end());
        EXPECT_LE(residentOf(pages), 64u + 1);
    }
    EXPECT_EQ(kept.front().join(), 1);
}

// As a function with a frame of 40 KiB does if it is compiled without -fstack-clash-protection.
void stepOverAPage(StackGuard guard, std::size_t stackSize) {
    CarrierOptions options = oneCarrier();
    options.stackGuard = guard;
    CarrierGroup group(options);
    group
        .spawn(
            [] {
                const Stack& stack = FiberAccess::currentFiber(*Carrier::current())->stack;
                *reinterpret_cast<volatile std::byte*>(stack.bottom() - 40 * 1024) = std::byte{1};
            },
            {.name = "strider", .stackSize = stackSize})
        .join();
}

TEST(StackGuardDeathTest, ALargeFrameDoesNotStepOverTheGuard) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const std::size_t size : {std::size_t{0}, StackPool::minimumSize}) {
        EXPECT_DEATH(stepOverAPage(StackGuard::automatic, size), "stack overflow in fiber 'strider' at 0x");
        EXPECT_DEATH(stepOverAPage(StackGuard::mprotect, size), "stack overflow in fiber 'strider' at 0x");
    }
}
#endif

TEST(Stacks, AFiberGetsItsWholeStackSizeForEveryGuardKind) {
    CarrierGroup group(oneCarrier());
    const auto room = [&](std::size_t size) {
        return group
            .spawn(
                [] {
                    const Stack& stack = FiberAccess::currentFiber(*Carrier::current())->stack;
                    return static_cast<std::size_t>(stack.top() - stack.bottom());
                },
                {.stackSize = size})
            .join();
    };
    EXPECT_EQ(room(0), 256u * 1024);
    EXPECT_EQ(room(StackPool::minimumSize), StackPool::minimumSize);
    EXPECT_EQ(room(StackPool::maximumSize), StackPool::maximumSize);
}

struct alignas(256) WideClosure {
    bool operator()() const {
        thisFiber::yield();
        return reinterpret_cast<std::uintptr_t>(this) % alignof(WideClosure) == 0;
    }
    char bytes[256] = {};
};

TEST(Stacks, AClosureIsAlignedAsItsTypeAsks) {
    CarrierGroup group(oneCarrier());
    for (int i = 0; i < 64; ++i) EXPECT_TRUE(group.spawn(WideClosure()).join());
}

TEST(LiveFibers, AreCountedBeforeTheyFirstRun) {
    CarrierGroup group(oneCarrier());
    Carrier& carrier = group.carrier(0);
    std::atomic<bool> entered{false};
    std::atomic<bool> release{false};
    auto busy = carrier.spawn([&] {
        entered = true;
        while (!release) std::this_thread::yield();  // occupies the whole carrier
    });
    while (!entered) std::this_thread::yield();
    std::vector<JoinHandle<void>> waiting;
    for (unsigned i = 1; i <= 3; ++i) {
        waiting.push_back(carrier.spawn([] {}));
        EXPECT_EQ(carrier.stats().spawned, 1u + i);
        EXPECT_EQ(carrier.stats().live, 1u + i);
    }
    EXPECT_EQ(carrier.stats().finished, 0u);
    release = true;
    busy.join();
    for (auto& fiber : waiting) fiber.join();
    EXPECT_TRUE(group.shutdown(std::chrono::minutes(1)));
    EXPECT_EQ(carrier.stats().spawned, 4u);
    EXPECT_EQ(carrier.stats().finished, 4u);
    EXPECT_EQ(carrier.stats().live, 0u);
}

// A fiber submitted while its carrier was busy begins only after the stop; its first wait must end at once.
TEST(LiveFibers, OneThatBeginsAfterTheStopIsEndedToo) {
    for (int round = 0; round < 100; ++round) {
        CarrierGroup group(oneCarrier());
        std::atomic<bool> entered{false};
        std::atomic<bool> release{false};
        auto busy = group.spawn([&] {
            entered = true;
            while (!release) std::this_thread::yield();
        });
        while (!entered) std::this_thread::yield();
        auto late = group.spawn([] {
            ErrorCode error;
            thisFiber::sleepFor(std::chrono::hours(1), error);
            return error == operationAborted();
        });
        group.beginShutdown();
        release = true;
        EXPECT_TRUE(group.shutdown(std::chrono::minutes(1)));
        EXPECT_TRUE(late.join());
        busy.join();
    }
}

#ifndef WEFT_SANITIZED
// In a process of its own. 0: each stack has the guard of the pool, and the slab is not resident.
int stacksUnderMlockall(bool lockedBefore, int flags) {
    if (lockedBefore && ::mlockall(flags) != 0) return 2;
    const StackPool::Owner pool = StackPool::create(StackGuard::automatic);
    const Stack first = pool->take(256 * 1024);
    if (!lockedBefore && ::mlockall(flags) != 0) return 2;
    const Stack second = pool->take(256 * 1024);
    std::memset(second.bottom(), 1, page);
    const std::size_t untouched = (second.size - page) / page;
    std::size_t resident = 0;
    for (std::size_t i = 1; i <= untouched; ++i) {
        resident += isResident(reinterpret_cast<std::uintptr_t>(second.bottom() + i * page));
    }
    int status = second.guard != pool->guard() || first.guard != pool->guard();
    if (lockedBefore && resident != 0) status = 3;
    pool->give(first);
    pool->give(second);
    return status;
}

TEST(StackGuards, HoldWhereTheProgramLocksItsMemory) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may lock as much memory";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto accepted = testing::ExitedWithCode(0);
    EXPECT_EXIT(std::_Exit(stacksUnderMlockall(true, MCL_FUTURE)), accepted, "^$");
    EXPECT_EXIT(std::_Exit(stacksUnderMlockall(true, MCL_CURRENT | MCL_FUTURE)), accepted, "^$");
    EXPECT_EXIT(std::_Exit(stacksUnderMlockall(false, MCL_CURRENT | MCL_FUTURE)), accepted, "^$");
}
#endif

}  // namespace
}  // namespace weft
