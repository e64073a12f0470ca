// Fibers in difficult conditions: exceptions across switches, stacks and their guards, fibers that ignore the shutdown,
// and blocking where it is forbidden.
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "scheduler/both_switches.hpp"
#include "support/sanitized.hpp"

namespace weft {
namespace {

CarrierOptions oneCarrier() {
    CarrierOptions options;
    options.carriers = 1;
    return options;
}

void expectOwnCaughtExceptions(const CarrierOptions& options) {
    CarrierGroup group(options);
    const auto rethrow = [](std::string text) {
        return [text] {
            std::string seen;
            try {
                try {
                    throw std::runtime_error(text);
                } catch (...) {
                    for (int i = 0; i < 10; ++i) thisFiber::yield();  // others throw and catch meanwhile
                    throw;
                }
            } catch (const std::runtime_error& error) {
                seen = error.what();
            }
            return seen + (std::current_exception() ? "!" : "");
        };
    };
    group
        .spawn([&] {  // which spawns all before any runs
            std::vector<JoinHandle<std::string>> handles;
            for (int i = 0; i < 20; ++i) handles.push_back(spawn(rethrow("thread " + std::to_string(i))));
            for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(handles[i].join(), "thread " + std::to_string(i));
        })
        .join();
}

TEST(Fiber, EachHasItsOwnCaughtExceptionOverSuspensions) {
    for (const CarrierOptions& options : test::bothSwitches()) expectOwnCaughtExceptions(options);
}

void expectOwnUncaughtExceptions(const CarrierOptions& options) {
    CarrierGroup group(options);
    struct Yielder {
        int* seen;
        ~Yielder() {
            thisFiber::yield();
            *seen = std::uncaught_exceptions();
        }
    };
    const auto unwind = [] {
        int seen = 0;
        try {
            const Yielder yielder{&seen};
            throw 1;
        } catch (int) {
        }
        return seen;
    };
    const auto look = [] {
        int most = 0;
        for (int i = 0; i < 5; ++i) {
            most = std::max(most, std::uncaught_exceptions());
            thisFiber::yield();
        }
        return most;
    };
    group
        .spawn([&] {  // which spawns all before any runs, so that their slices alternate
            auto first = spawn(unwind);
            auto second = spawn(unwind);
            auto calm = spawn(look);
            EXPECT_EQ(first.join(), 1);
            EXPECT_EQ(second.join(), 1);
            EXPECT_EQ(calm.join(), 0);
        })
        .join();
}

TEST(Fiber, UncaughtExceptionsAreCountedPerFiberInUnwindingDestructors) {
    for (const CarrierOptions& options : test::bothSwitches()) expectOwnUncaughtExceptions(options);
}

TEST(Fiber, KnowsItsNameIdAndCarrier) {
    CarrierGroup group(oneCarrier());
    auto named = group.spawn([] { return thisFiber::name(); }, {.name = "weaver"});
    EXPECT_EQ(named.join(), "weaver");
    auto unnamed = group.spawn([] { return thisFiber::name() == "fiber-" + std::to_string(thisFiber::id()); });
    EXPECT_TRUE(unnamed.join());
    EXPECT_TRUE(group
                    .spawn([&] {
                        return thisFiber::carrier() == &group.carrier(0) &&
                               thisFiber::runningCarrier() == &group.carrier(0);
                    })
                    .join());
    EXPECT_FALSE(thisFiber::isFiber());
    EXPECT_EQ(thisFiber::name(), "");
    EXPECT_EQ(thisFiber::carrier(), nullptr);
}

TEST(Fiber, ALongNameIsCutBetweenTwoCharacters) {
    CarrierGroup group(oneCarrier());
    const auto nameOf = [&](const std::string& name) {
        return group.spawn([] { return std::string(thisFiber::name()); }, {.name = name}).join();
    };
    const auto letters = [](std::size_t count) { return std::string(count, 'a'); };
    EXPECT_EQ(nameOf(letters(31)), letters(31));
    EXPECT_EQ(nameOf(letters(32)), letters(31));
    for (const std::string character : {"\xd0\xb7", "\xe2\x82\xac", "\xf0\x9f\xa7\xb5"}) {
        const std::size_t fits = 31 - character.size();
        EXPECT_EQ(nameOf(letters(fits) + character), letters(fits) + character);
        EXPECT_EQ(nameOf(letters(fits) + character + "b"), letters(fits) + character);
        for (std::size_t start = fits + 1; start <= 31; ++start) {
            EXPECT_EQ(nameOf(letters(start) + character), letters(start));
            EXPECT_EQ(nameOf(letters(start) + character + "b"), letters(start));
        }
    }
    const std::string noCharacters(40, '\x80');
    EXPECT_EQ(nameOf(noCharacters), noCharacters.substr(0, 31));
}

TEST(Fiber, BlockingInsideANonSuspendingScopeThrowsAndNamesTheCall) {
    CarrierGroup group(oneCarrier());
    auto text = group
                    .spawn([&] {
                        auto other = group.carrier(0).spawn([] {});
                        const NonSuspendingScope scope;
                        try {
                            other.join();
                        } catch (const BlockingOperationException& error) {
                            return std::string(error.what());
                        }
                        return std::string("(it blocked)");
                    })
                    .join();
    EXPECT_NE(text.find("JoinHandle::join"), std::string::npos) << text;
}

TEST(Fiber, ShutdownFromItsOwnGroupIsRefusedButCanBeBegun) {
    CarrierGroup group(oneCarrier());
    EXPECT_TRUE(group
                    .spawn([&] {
                        try {
                            group.shutdown(std::chrono::seconds(1));
                        } catch (const BlockingOperationException&) {
                            group.beginShutdown();
                            return true;
                        }
                        return false;
                    })
                    .join());
}

std::atomic<int> named{0};

TEST(Fiber, OneThatIgnoresTheShutdownIsNamedAndTheShutdownCanBeRepeated) {
    named = 0;
    setLogSink([](LogLevel, std::string_view text) noexcept {
        if (text.find("'stubborn'") != std::string_view::npos) named.fetch_add(1);
    });
    CarrierGroup group(oneCarrier());
    std::atomic<bool> stop{false};
    std::atomic<bool> begun{false};
    auto stubborn = group.spawn(
        [&] {
            begun = true;
            while (!stop) thisFiber::yield();
        },
        {.name = "stubborn"});
    while (!begun) std::this_thread::yield();
    EXPECT_FALSE(group.shutdown(std::chrono::milliseconds(1)));
    while (named == 0) std::this_thread::yield();
    stop = true;
    EXPECT_TRUE(group.shutdown(std::chrono::seconds(60)));
    setLogSink(nullptr);
}

TEST(Fiber, AnUnjoinedExceptionIsLoggedWithTheFibersName) {
    named = 0;
    setLogSink([](LogLevel level, std::string_view text) noexcept {
        if (level == LogLevel::error && text.find("'loose'") != std::string_view::npos &&
            text.find("frayed") != std::string_view::npos) {
            named.fetch_add(1);
        }
    });
    {
        CarrierGroup group(oneCarrier());
        group.carrier(0).spawnDetached([] { throw std::runtime_error("frayed"); }, {.name = "loose"});
        group.spawn([] { throw std::runtime_error("frayed"); }, {.name = "loose"}).detach();
        group.carrier(0).spawn([] {}).join();
    }
    setLogSink(nullptr);
    EXPECT_EQ(named, 2);
}

// The stack guards that this kernel supports.
std::vector<StackGuard> guards() {
    std::vector<StackGuard> offered = {StackGuard::automatic, StackGuard::mprotect, StackGuard::canary};
    try {
        StackPool::create(StackGuard::madvise);
        offered.push_back(StackGuard::madvise);
    } catch (const ConfigurationError& refusal) {
        EXPECT_NE(std::string(refusal.what()).find("Linux 6.13"), std::string::npos) << refusal.what();
    }
    return offered;
}

TEST(Stacks, EachIsReturnedForEveryGuardKind) {
    for (const StackGuard guard : guards()) {
        CarrierOptions options = oneCarrier();
        options.stackGuard = guard;
        options.cachedStacks = 4;  // few, so that some stacks go through the pool and are cold
        CarrierGroup group(options);
        for (int round = 0; round < 3; ++round) {
            std::vector<JoinHandle<int>> handles;
            for (int i = 0; i < 300; ++i) {
                handles.push_back(group.spawn([i] {
                    thisFiber::yield();
                    return i;
                }));
            }
            for (int i = 0; i < 300; ++i) EXPECT_EQ(handles[static_cast<std::size_t>(i)].join(), i);
        }
        ASSERT_TRUE(group.shutdown(std::chrono::seconds(60)));
        EXPECT_LE(group.stacks().live(), 2 * options.cachedStacks);  // the size of the carrier's cache
    }
}

TEST(Stacks, AFiberMayAskForAnotherSize) {
    CarrierGroup group(oneCarrier());
    auto deep = group.spawn(
        [] {
            volatile char wide[600 * 1024];
            wide[0] = 1;
            wide[sizeof wide - 1] = 2;
            return wide[0] + wide[sizeof wide - 1];
        },
        {.stackSize = 1024 * 1024});
    EXPECT_EQ(deep.join(), 3);
}

#ifndef WEFT_SANITIZED
// A recursion that no optimiser turns into a loop.
int sink(int depth) {
    volatile char frame[512];
    frame[0] = static_cast<char>(depth);
    return depth == 0 ? 0 : sink(depth - 1) + frame[0];
}

void overflowAStackWith(StackGuard guard) {
    CarrierOptions options = oneCarrier();
    options.stackGuard = guard;
    CarrierGroup group(options);
    group.spawn([] { return sink(1 << 20); }, {.name = "bottomless"}).join();
}

TEST(StacksDeathTest, AnOverflowNamesTheFiberForBothGuardKinds) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const StackGuard guard : guards()) {
        if (guard == StackGuard::canary) continue;
        EXPECT_DEATH(overflowAStackWith(guard), "stack overflow in fiber 'bottomless' at 0x");
    }
}

// Writes past the last word of a stack of 16 KiB, but not as far as the adjacent stack.
int overfill() {
    volatile char wide[17 * 1024];
    for (std::size_t i = 0; i < sizeof wide; ++i) wide[i] = static_cast<char>(i);
    return wide[0];
}

TEST(StacksDeathTest, WithoutAGuardPageTheOverflowIsFoundAtTheFibersEnd) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            CarrierOptions options = oneCarrier();
            options.stackGuard = StackGuard::canary;
            CarrierGroup group(options);
            group.spawn(overfill, {.name = "bottomless", .stackSize = StackPool::minimumSize}).join();
        },
        "stack overflow in fiber 'bottomless' \\(without a guard page: detected when the fiber ended\\)");
}
#endif

}  // namespace
}  // namespace weft
