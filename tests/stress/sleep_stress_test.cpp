// Going to sleep races with arriving work: the carrier's futex, a poller's eventfd, an event loop's inbox. Each round
// needs its answer before the next one begins, so the carrier sleeps in each, and one lost wake-up stops the test.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>

#include <weft/testing/leak_guard.hpp>
#include "stress/stress.hpp"

namespace weft::stress {
namespace {

// A carrier with an event loop over epoll and the carrier's eventfd.
struct HostedCarrier {
    explicit HostedCarrier(unsigned count = 1) : group(carriers(count)) {
        for (unsigned i = 0; i < count; ++i) {
            loops.push_back(std::make_unique<EventLoop>(group.carrier(i), std::make_unique<EpollIoHandler>()));
            ended.push_back(loops.back()->start());
        }
    }
    ~HostedCarrier() {
        for (auto& loop : loops) loop->stop();
        for (auto& end : ended) end.await();
    }
    CarrierGroup group;
    std::vector<std::unique_ptr<EventLoop>> loops;
    std::vector<Future<void>> ended;
};

class SleepStress : public test::LeakGuard {};

// Gives the carrier time to go to sleep, so that not every round finds it awake.
void letItSleep(Carrier& carrier) {
    const std::uint64_t parks = carrier.stats().parks;
    for (int i = 0; i < 200 && carrier.stats().parks == parks; ++i) std::this_thread::yield();
}

// Runs `round(noise)` on each of two threads until all rounds are done.
template <class Round>
void onTwoThreads(CarrierGroup& group, std::uint64_t total, Round round) {
    Watchdog watchdog(group);
    const std::uint32_t first = seed();
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 2; ++t) {
        threads.emplace_back([&, t] {
            Noise noise(first + t * 7919);
            for (std::uint64_t i = 0; i < total / 2; ++i) {
                if (noise.next() % 32 == 0) letItSleep(group.carrier(0));
                round(noise);
                watchdog.advance();
            }
        });
    }
    for (auto& thread : threads) thread.join();
}

TEST_F(SleepStress, ASpawnReachesACarrierThatGoesToSleepInItsFutex) {
    CarrierGroup group(carriers(1));
    std::atomic<std::uint64_t> ran{0};
    const std::uint64_t total = rounds(0.4);
    onTwoThreads(group, total, [&](Noise& noise) {
        noise();
        group.spawn([&] { ran.fetch_add(1, std::memory_order_relaxed); }).join();
    });
    EXPECT_EQ(ran, total / 2 * 2);
    EXPECT_GT(group.carrier(0).stats().wakesFutex, 0u) << "it never slept: nothing was tested";
}

TEST_F(SleepStress, ASpawnReachesACarrierThatGoesToSleepInItsPoller) {
    HostedCarrier host;
    std::atomic<std::uint64_t> ran{0};
    const std::uint64_t total = rounds(0.4);
    onTwoThreads(host.group, total, [&](Noise& noise) {
        noise();
        host.group.spawn([&] { ran.fetch_add(1, std::memory_order_relaxed); }).join();
    });
    EXPECT_EQ(ran, total / 2 * 2);
    EXPECT_GT(host.group.carrier(0).stats().wakesPoller, 0u);
}

TEST_F(SleepStress, ATaskReachesALoopThatGoesToSleep) {
    HostedCarrier host;
    std::atomic<std::uint64_t> ran{0};
    const std::uint64_t total = rounds(0.4);
    onTwoThreads(host.group, total, [&](Noise& noise) {
        Promise<void> done;
        const Future<void> answer = done.future();
        noise();
        host.loops[0]->execute([&, done = std::move(done)]() mutable {
            ran.fetch_add(1, std::memory_order_relaxed);
            done.setValue();
        });
        answer.await();
    });
    EXPECT_EQ(ran, total / 2 * 2);
    EXPECT_GT(host.group.carrier(0).stats().wakesPoller, 0u);
}

// Two carriers; each sleeps until the other one's fiber answers.
TEST_F(SleepStress, CarriersWakeEachOther) {
    HostedCarrier host(2);
    Watchdog watchdog(host.group);
    const std::uint64_t total = rounds(0.3);
    std::uint64_t answered = 0;
    host.group.carrier(0)
        .spawn([&] {
            for (std::uint64_t i = 0; i < total; ++i) {
                answered += host.group.carrier(1).spawn([i] { return i; }).join() == i;
                watchdog.advance();
            }
        })
        .join();
    EXPECT_EQ(answered, total);
}

// Netty #15922: a stop races with going to sleep. The loop ends each time, and every task ran or was refused.
TEST_F(SleepStress, AStopThatRacesWithSleepAndTasksEndsTheLoop) {
    CarrierGroup group(carriers(1));
    Watchdog watchdog(group);
    Noise noise(seed());
    const std::uint64_t total = rounds(0.005);
    for (std::uint64_t i = 0; i < total; ++i) {
        EventLoop loop(group.carrier(0), std::make_unique<EpollIoHandler>());
        const Future<void> ended = loop.start();
        std::atomic<int> ran{0};
        int accepted = 0;
        std::thread poster([&] {
            try {
                for (;; ++accepted) loop.execute([&] { ran.fetch_add(1, std::memory_order_relaxed); });
            } catch (const SystemError&) {
            }
        });
        noise();
        loop.stop();
        ended.await();
        poster.join();
        ASSERT_EQ(ran, accepted);
        watchdog.advance();
    }
}

}  // namespace
}  // namespace weft::stress
