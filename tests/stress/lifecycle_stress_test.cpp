// Groups that end while other threads spawn, wake and register: accepted work runs, refused work is reported, and
// nothing is left over.
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

class LifecycleStress : public test::LeakGuard {};

// A shutdown that times out wakes the carriers again, to name their fibers, and could so hide a lost wake-up.
constexpr std::chrono::hours untilTheWatchdog{24};

TEST_F(LifecycleStress, AShutdownThatRacesWithSpawnsRunsWhatItAccepted) {
    Noise noise(seed());
    const std::uint64_t total = rounds(0.005);
    for (std::uint64_t i = 0; i < total; ++i) {
        CarrierGroup group(carriers(2));
        Watchdog watchdog(group);
        std::atomic<int> ran{0};
        std::vector<std::thread> spawners;
        std::atomic<int> accepted{0};
        for (int t = 0; t < 2; ++t) {
            spawners.emplace_back([&] {
                try {
                    for (;;) {
                        group.next().spawnDetached([&] { ran.fetch_add(1); });
                        accepted.fetch_add(1);
                    }
                } catch (const SystemError&) {
                }
            });
        }
        noise();
        group.beginShutdown();
        for (auto& spawner : spawners) spawner.join();
        ASSERT_TRUE(group.shutdown(untilTheWatchdog));
        ASSERT_EQ(ran, accepted);
        std::uint64_t spawned = 0, finished = 0;
        for (std::size_t c = 0; c < group.size(); ++c) {
            spawned += group.carrier(c).stats().spawned;
            finished += group.carrier(c).stats().finished;
        }
        ASSERT_EQ(spawned, finished);
    }
}

// The waker may still be inside enqueue() when the fiber that it woke, its carrier and its group are gone (V1).
TEST_F(LifecycleStress, AGroupEndsWhileTheThreadThatWokeItsLastFiberIsOnItsWayOut) {
    Noise noise(seed());
    const std::uint64_t total = rounds(0.01);
    for (std::uint64_t i = 0; i < total; ++i) {
        Promise<void> promise;
        auto group = std::make_unique<CarrierGroup>(carriers(1));
        auto waiting = group->spawn([future = promise.future()] { future.await(); });
        std::thread waker([&, promise = std::move(promise)]() mutable {
            noise();
            promise.setValue();
        });
        waiting.join();
        group.reset();
        waker.join();
    }
}

TEST_F(LifecycleStress, AShutdownEndsEveryWaitHoweverItRacesWithIt) {
    const std::uint32_t first = seed();
    const std::uint64_t total = rounds(0.01);
    for (std::uint64_t i = 0; i < total; ++i) {
        CarrierGroup group(carriers(1));
        Watchdog watchdog(group);
        std::vector<JoinHandle<bool>> fibers;
        for (unsigned f = 0; f < 8; ++f) {
            fibers.push_back(group.spawn([&, f] {
                Noise noise(first + f);
                noise();
                ErrorCode error;
                thisFiber::sleepFor(std::chrono::hours(1), error);
                return error == operationAborted();
            }));
        }
        Noise noise(first + static_cast<std::uint32_t>(i));
        noise();
        ASSERT_TRUE(group.shutdown(untilTheWatchdog));
        for (auto& fiber : fibers) ASSERT_TRUE(fiber.join());
    }
}

// A poller ends and is registered again while others wake it: no wake-up is lost, no callback outlives its poller
// (SCH-10).
TEST_F(LifecycleStress, LoopsComeAndGoOnACarrierThatIsSpawnedOn) {
    CarrierGroup group(carriers(1));
    Watchdog watchdog(group);
    Noise noise(seed());
    std::atomic<bool> stop{false};
    std::thread spawner([&] {
        Noise own(12345);
        while (!stop) {
            own();
            group.spawn([] {}).join();
        }
    });
    const std::uint64_t total = rounds(0.05);
    for (std::uint64_t i = 0; i < total; ++i) {
        EventLoop loop(group.carrier(0), std::make_unique<EpollIoHandler>());
        const Future<void> ended = loop.start();
        noise();
        loop.stop();
        ended.await();
        watchdog.advance();
    }
    stop = true;
    spawner.join();
}

}  // namespace
}  // namespace weft::stress
