// Hosted pollers: the mistakes that the carrier reports or survives: a sleep past the deadline, a forgotten unpark(), a
// body that does not end.
#include <weft/scheduler/carrier.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <weft/scheduler/this_fiber.hpp>

#include "scheduler/pinned_poller_bench.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using test::PinnedPollerTest;

// Parks with a timer armed.
Deadline parkWithTimer(PinnedPoller& poller) {
    for (;;) {
        poller.carrier().spawnDetached([] { thisFiber::sleepFor(std::chrono::milliseconds(1)); });
        while (poller.maybeYield(false)) {
        }
        if (poller.parkDeadline() != never && poller.tryParkPoller()) return poller.parkDeadline();
    }
}

TEST_F(PinnedPollerTest, APollerThatSleepsPastParkDeadlineIsReported) {
    const test::LogCapture log;
    auto ended = carrier.registerPinnedPoller([] {},
                                              [](PinnedPoller& poller) {
                                                  const Deadline deadline = parkWithTimer(poller);
                                                  std::this_thread::sleep_until(  // the mistake itself
                                                      deadline + std::chrono::milliseconds(150));
                                                  poller.unpark();
                                              });
    ended.get();
    EXPECT_EQ(log.count("the poller of carrier", carrier.name(), "past parkDeadline()"), 1) << log.text();
}

// No fiber was late: the carrier itself fired the timers while its poller was descheduled.
TEST_F(PinnedPollerTest, APollerThatWasDescheduledPastParkDeadlineIsNotReported) {
    const test::LogCapture log;
    auto ended = carrier.registerPinnedPoller([] {},
                                              [](PinnedPoller& poller) {
                                                  const Deadline deadline = parkWithTimer(poller);
                                                  thisFiber::sleepUntil(deadline + std::chrono::milliseconds(150));
                                                  poller.unpark();
                                              });
    ended.get();
    EXPECT_EQ(log.count("parkDeadline()"), 0) << log.text();
}

// A wake without work, then no unpark(). The next sleep reports it, and every call of the wakeup still counts
// (otherwise the slot would never be free).
TEST_F(PinnedPollerTest, AForgottenUnparkIsReportedOnceAndDoesNoHarm) {
    const test::LogCapture log;
    std::atomic<int> parked{0};
    std::atomic<int> woken{0};
    auto ended = carrier.registerPinnedPoller([&] { woken.fetch_add(1); },
                                              [&](PinnedPoller& poller) {
                                                  for (int i = 1; i <= 3; ++i) {
                                                      while (!poller.tryParkPoller()) poller.maybeYield(false);
                                                      parked = i;
                                                      while (woken < i) std::this_thread::yield();
                                                  }
                                              });
    for (int i = 1; i <= 3; ++i) {
        while (parked < i) std::this_thread::yield();
        carrier.wakeIfParked();
    }
    ended.get();
    EXPECT_EQ(woken, 3);
    EXPECT_EQ(carrier.stats().wakesPoller, 3u);
    EXPECT_EQ(log.count("the poller of carrier", carrier.name(), "without unpark()"), 1) << log.text();
}

TEST_F(PinnedPollerTest, ABodyThatIgnoresTheShutdownIsNamed) {
    const test::LogCapture log;
    std::atomic<bool> begun{false};  // a fiber that has not begun is not named
    std::atomic<bool> stop{false};
    auto ended = carrier.registerPinnedPoller([] {},
                                              [&](PinnedPoller& poller) {
                                                  begun = true;
                                                  while (!stop) poller.maybeYield(false);
                                              },
                                              "stubborn");
    while (!begun) std::this_thread::yield();
    EXPECT_FALSE(group.shutdown(std::chrono::milliseconds(1)));
    EXPECT_TRUE(log.await("poller 'stubborn' of carrier", carrier.name(), "ignores the shutdown")) << log.text();
    stop = true;
    ended.get();
    EXPECT_TRUE(group.shutdown(std::chrono::seconds(60)));
}

// A body that blocks its thread in its own call, without parking, stops its whole carrier. From outside only one thing
// is known: the carrier does not end.
TEST_F(PinnedPollerTest, ABodyThatBlocksItsThreadIsReportedByTheShutdown) {
    const test::LogCapture log;
    std::mutex lock;
    std::condition_variable changed;
    bool blocking = false;
    bool release = false;
    auto ended = carrier.registerPinnedPoller([] {},
                                              [&](PinnedPoller&) {
                                                  std::unique_lock held(lock);
                                                  blocking = true;
                                                  changed.notify_all();
                                                  changed.wait(held, [&] { return release; });
                                              });
    auto fiber = [&] {
        std::unique_lock held(lock);
        changed.wait(held, [&] { return blocking; });
        return carrier.spawn([] {});  // runs after the blocked body
    }();
    EXPECT_FALSE(group.shutdown(std::chrono::milliseconds(1)));
    EXPECT_EQ(log.count("carrier", carrier.name(), "has not ended yet", "never suspends cannot be listed"), 1)
        << log.text();
    {
        std::lock_guard held(lock);
        release = true;
        changed.notify_all();
    }
    ended.get();
    fiber.join();
    EXPECT_TRUE(group.shutdown(std::chrono::seconds(60)));
}

}  // namespace
}  // namespace weft
