// Code that a carrier runs outside any fiber. Every blocking call there throws, because it would stop the thread that
// has to deliver the wake.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/task_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/scheduler/timer_wheel.hpp>

#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// Makes every blocking call of the scheduler; returns how many threw BlockingOperationException.
int refusedCalls(const Future<void>& pending) {
    const std::function<void()> calls[] = {
        [] { thisFiber::yield(); },
        [] { thisFiber::sleepFor(hours(1)); },
        [&] { pending.await(); },
        [&] { pending.awaitFor(hours(1)); },
        [] { const TaskScope scope; },
        [] {
            auto fiber = Carrier::current()->spawn([] {});
            fiber.join();
        },
    };
    int refused = 0;
    for (const auto& call : calls) {
        try {
            call();
        } catch (const BlockingOperationException&) {
            ++refused;
        }
    }
    return refused;
}
constexpr int allCalls = 6;

struct Blocks {
    Blocks(std::atomic<int>& refused, Future<void> pending) : refused(&refused), pending(std::move(pending)) {}
    Blocks(Blocks&& other) noexcept : refused(std::exchange(other.refused, nullptr)), pending(other.pending) {}
    Blocks& operator=(Blocks&&) = delete;
    ~Blocks() {
        if (refused) *refused = refusedCalls(pending);
    }
    std::atomic<int>* refused;
    Future<void> pending;
};

TEST(OutsideFibers, TheDestructorOfAnUnjoinedResultMayNotBlock) {
    std::atomic<int> refused{-1};
    Promise<void> never;
    CarrierGroup group(test::oneCarrier());
    group.carrier(0).spawnDetached([&] { return Blocks(refused, never.future()); });
    while (refused < 0) std::this_thread::yield();
    EXPECT_EQ(refused, allCalls);
}

TEST(OutsideFibers, TheDestructorOfACarriersServiceMayNotBlock) {
    struct Service {
        std::atomic<int>* refused = nullptr;
        Future<void> pending;
        ~Service() {
            if (refused == nullptr) return;
            int count = 0;
            try {
                pending.await();
            } catch (const BlockingOperationException&) {
                ++count;
            }
            try {
                thisFiber::yield();
            } catch (const BlockingOperationException&) {
                ++count;
            }
            *refused = count;
        }
    };
    std::atomic<int> refused{0};
    Promise<void> never;
    {
        CarrierGroup group(test::oneCarrier());
        group
            .spawn([&] {
                auto& service = Carrier::current()->local<Service>();
                service.refused = &refused;
                service.pending = never.future();
            })
            .join();
    }
    EXPECT_EQ(refused, 2);
}

TEST(OutsideFibers, ATimersCallbackMayNotBlock) {
    struct Timer : TimerEntry {
        Timer() : TimerEntry(&Timer::fired) {}
        static void fired(TimerEntry& entry) noexcept {
            auto& timer = static_cast<Timer&>(entry);
            timer.refused = refusedCalls(timer.never.future());
        }
        Promise<void> never;
        std::atomic<int> refused{-1};
    };
    CarrierGroup group(test::oneCarrier());
    Timer timer;
    group.spawn([&] { group.carrier(0).timers().arm(timer, Clock::steady().now()); }).join();
    while (timer.refused < 0) std::this_thread::yield();
    EXPECT_EQ(timer.refused, allCalls);
}

TEST(OutsideFibers, AListenerOfAPollersFutureMayNotBlock) {
    std::atomic<int> refused{-1};
    Promise<void> never;
    CarrierGroup group(test::oneCarrier());
    std::atomic<bool> listening{false};
    auto ended = group.carrier(0).registerPinnedPoller([] {},
                                                       [&](PinnedPoller& poller) {
                                                           while (!listening) poller.maybeYield(false);
                                                       });
    ended.addListener([&](const Future<void>&) { refused = refusedCalls(never.future()); });
    listening = true;
    while (refused < 0) std::this_thread::yield();
    EXPECT_EQ(refused, allCalls);
}

TEST(OutsideFibers, TheMessageNamesTheCall) {
    struct Timer : TimerEntry {
        Timer() : TimerEntry(&Timer::fired) {}
        static void fired(TimerEntry& entry) noexcept {
            auto& timer = static_cast<Timer&>(entry);
            try {
                thisFiber::sleepFor(hours(1));
            } catch (const BlockingOperationException& error) {
                timer.message = error.what();
            }
            timer.done = true;
        }
        std::string message;
        std::atomic<bool> done{false};
    };
    CarrierGroup group(test::oneCarrier());
    Timer timer;
    group.spawn([&] { group.carrier(0).timers().arm(timer, Clock::steady().now()); }).join();
    while (!timer.done) std::this_thread::yield();
    EXPECT_EQ(timer.message.find("thisFiber::sleepUntil would block"), 0u) << timer.message;
}

}  // namespace
}  // namespace weft
