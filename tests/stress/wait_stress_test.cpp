// One wait that several parties try to end: wakers on other threads, its deadline, the shutdown. Exactly one of them
// wins.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>

#include <weft/testing/leak_guard.hpp>
#include "stress/stress.hpp"

namespace weft::stress {
namespace {

class WaitStress : public test::LeakGuard {};

// A place where a waiter leaves its key for three wakers, all of which try it.
struct Meeting {
    std::mutex lock;
    WakeKey key;
    std::uint64_t round = 0;
};

TEST_F(WaitStress, OfThreeWakersAndADeadlineExactlyOneEndsTheWait) {
    CarrierGroup group(carriers(1));
    Watchdog watchdog(group);
    const std::uint32_t first = seed();
    const std::uint64_t total = rounds(0.5);
    Meeting meeting;
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> wins{0};
    std::vector<std::thread> wakers;
    for (std::uint32_t w = 0; w < 3; ++w) {
        wakers.emplace_back([&, w] {
            Noise noise(first + w);
            while (!stop) {
                noise();
                std::lock_guard held(meeting.lock);
                if (meeting.key && meeting.key.wake()) wins.fetch_add(1, std::memory_order_relaxed);
            }
        });
    }
    std::uint64_t woken = 0;
    std::uint64_t timedOut = 0;
    group
        .spawn([&] {
            Noise noise(first + 99);
            for (std::uint64_t i = 0; i < total; ++i) {
                Suspension wait("meeting");
                {
                    std::lock_guard held(meeting.lock);
                    meeting.key = wait.key();
                }
                const WakeReason why = wait.park(Clock::steady().now() + Duration(noise.next() % 200'000));
                {
                    std::lock_guard held(meeting.lock);
                    meeting.key = {};
                }
                ++(why == WakeReason::timeout ? timedOut : woken);
                watchdog.advance();
            }
        })
        .join();
    stop = true;
    for (auto& waker : wakers) waker.join();
    EXPECT_EQ(woken + timedOut, total);
    EXPECT_EQ(wins, woken) << "a waker that won is a wait that ended by it";
    EXPECT_GT(woken, 0u);
}

// Two waits of a fiber. Its waker, its deadline or the cancellation may end the first; only the cancellation, from a
// thread that knows of neither wait, may end the second.
TEST_F(WaitStress, ACancellationIsNeverLost) {
    CarrierGroup group(carriers(2));
    Watchdog watchdog(group);
    const std::uint32_t first = seed();
    const std::uint64_t total = rounds(0.3);
    Noise noise(first);
    Noise wakersNoise(first + 1);
    Promise<void> never;
    for (std::uint64_t i = 0; i < total; ++i) {
        Promise<void> promise;
        auto fiber = group.carrier(0).spawn(
            [first = promise.future(), second = never.future(), wait = Duration(noise.next() % 100'000)] {
                try {
                    first.awaitFor(wait);
                } catch (const SystemError&) {
                }
                second.await();
            });
        auto waker = group.carrier(1).spawn([&wakersNoise, promise = std::move(promise)]() mutable {
            wakersNoise();
            promise.setValue();
        });
        noise();
        fiber.cancel();
        EXPECT_THROW(fiber.join(), SystemError);
        waker.join();
        watchdog.advance();
    }
    never.setValue();
}

TEST_F(WaitStress, PromisesAreAwaitedAndListenedToWhileTheyComplete) {
    CarrierGroup group(carriers(2));
    Watchdog watchdog(group);
    Noise noise(seed());
    const std::uint64_t total = rounds(0.2);
    for (std::uint64_t i = 0; i < total; ++i) {
        Promise<std::uint64_t> promise;
        const Future<std::uint64_t> future = promise.future();
        std::atomic<int> listened{0};
        auto awaiting = group.carrier(0).spawn([future] { return future.get(); });
        auto listening = group.carrier(1).spawn([&listened, future] {
            future.addListener([&](const Future<std::uint64_t>&) { listened.fetch_add(1); });
            future.addListener([&](const Future<std::uint64_t>&) { listened.fetch_add(1); });
        });
        noise();
        promise.setValue(i);
        ASSERT_EQ(awaiting.join(), i);
        listening.join();
        ASSERT_EQ(listened, 2);
        watchdog.advance();
    }
}

TEST_F(WaitStress, JoinsWithDeadlinesRaceWithTheEnd) {
    CarrierGroup group(carriers(2));
    Watchdog watchdog(group);
    const std::uint32_t first = seed();
    const std::uint64_t total = rounds(0.2);
    std::uint64_t joined = 0;
    group.carrier(0)
        .spawn([&] {
            Noise noise(first);
            for (std::uint64_t i = 0; i < total; ++i) {
                auto child = group.carrier(1).spawn([i] { return i; });
                noise();
                // A few microseconds too late or too early.
                child.waitUntil(Clock::steady().now() + Duration(noise.next() % 20'000));
                joined += child.join() == i;
                watchdog.advance();
            }
        })
        .join();
    EXPECT_EQ(joined, total);
}

TEST_F(WaitStress, TimersAreCancelledFromElsewhereWhileTheyFire) {
    CarrierGroup group(carriers(1));
    EventLoop loop(group.carrier(0), std::make_unique<EpollIoHandler>());
    const Future<void> ended = loop.start();
    {
        Watchdog watchdog(group);
        Noise noise(seed());
        const std::uint64_t total = rounds(0.03);
        std::uint64_t cancelled = 0;
        for (std::uint64_t i = 0; i < total; ++i) {
            std::atomic<int> ran{0};
            Promise<void> passed;
            const Future<void> behind = passed.future();
            ScheduledTask task = loop.schedule([&] { ran.fetch_add(1); }, Duration(noise.next() % 100'000));
            noise();
            const bool cancel = task.cancel();
            cancelled += cancel;
            // After every run that could still begin.
            loop.schedule([&] { passed.setValue(); }, std::chrono::microseconds(170));
            behind.await();
            ASSERT_EQ(ran + (cancel ? 1 : 0), 1) << "it ran, or it was cancelled, and not both";
            watchdog.advance();
        }
        EXPECT_GT(cancelled, 0u);
    }
    loop.stop();
    ended.await();
}

}  // namespace
}  // namespace weft::stress
