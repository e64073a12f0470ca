// CarrierWatchdog: one report per task that occupies its carrier for too long, and none for any other carrier.
#include <weft/scheduler/carrier_watchdog.hpp>

#include <atomic>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include <weft/scheduler/event_loop.hpp>

#include "scheduler/spinner.hpp"
#include "scheduler/sync/fibers.hpp"
#include "stuck_carriers.hpp"
#include "support/forked_process.hpp"
#include "support/log_capture.hpp"
#include "support/loop_without_io.hpp"
#include "support/sanitized.hpp"
#include "support/threads.hpp"

namespace weft {
namespace {

using detail::StuckCarriers;
using detail::StuckTimer;
using sync::carriers;
using test::LogCapture;
using test::Spinner;
using namespace std::chrono_literals;

constexpr Duration limit = 100ms;
constexpr Duration step = 60ms;
constexpr bool awake = false;
constexpr bool asleep = true;
using Event = StuckTimer::Event;

void awaitSleep(const Carrier& carrier) {
    while (!StuckCarriers::stateOf(carrier).asleep) std::this_thread::yield();
}

// A carrier answers its requests in order, and the watchdog's comes first.
void awaitUnblockedSignal(CarrierGroup& group) {
    static_cast<void>(group.fibers(1min));
}

TEST(StuckTimerTest, OneTaskThatLastsLongerThanTheLimitIsReportedOnce) {
    StuckTimer timer;
    EXPECT_EQ(timer.observe(1, awake, step, limit), Event::none);
    EXPECT_EQ(timer.observe(1, awake, step, limit), Event::none);
    EXPECT_EQ(timer.observe(1, awake, step, limit), Event::stuck);
    EXPECT_EQ(timer.time(), 120ms);
    EXPECT_EQ(timer.observe(1, awake, step, limit), Event::none);
    EXPECT_EQ(timer.observe(2, awake, step, limit), Event::wentOn);
    EXPECT_EQ(timer.time(), 180ms);
    EXPECT_EQ(timer.observe(2, awake, step, limit), Event::none);
    EXPECT_EQ(timer.observe(2, awake, step, limit), Event::stuck);
    EXPECT_EQ(timer.time(), 120ms);
}

TEST(StuckTimerTest, TasksThatChangeAreNoIncident) {
    StuckTimer timer;
    for (std::uint64_t progress = 1; progress < 100; ++progress) {
        EXPECT_EQ(timer.observe(progress, awake, step, limit), Event::none);
        EXPECT_EQ(timer.observe(progress, awake, step, limit), Event::none);
    }
}

TEST(StuckTimerTest, SleepIsNoIncident) {
    StuckTimer timer;
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(timer.observe(1, asleep, step, limit), Event::none);
        EXPECT_EQ(timer.observe(1, awake, step, limit), Event::none);
    }
}

TEST(StuckTimerTest, TheCheckThatFindsACarrierJustAwakeCountsNoTime) {
    StuckTimer timer;
    const Duration longStep = 2 * limit;
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(timer.observe(1, asleep, longStep, limit), Event::none);
        EXPECT_EQ(timer.observe(1, awake, longStep, limit), Event::none);
    }
    EXPECT_EQ(timer.observe(1, awake, longStep, limit), Event::stuck);
}

TEST(CarrierWatchdogTest, AStuckCarrierIsReportedOnceWithItsFiberAndItsStack) {
    LogCapture log;
    CarrierOptions options = carriers(2);
    options.workStealing = false;  // a carrier that helps wakes up now and then
    CarrierGroup group(options);
    StuckCarriers watched(group, limit, SIGRTMIN + 4);
    awaitUnblockedSignal(group);
    awaitSleep(group.carrier(1));
    {
        const Spinner spinner(group.carrier(0));
        watched.check(step);
        watched.check(step);
        EXPECT_EQ(log.count("has been in one task"), 0) << log.text();
        for (int i = 0; i < 5; ++i) watched.check(step);
    }
    EXPECT_EQ(log.count("carrier weft0 has been in one task for 120 ms: "), 1) << log.text();
    EXPECT_EQ(log.count("goes on"), 0);
    awaitSleep(group.carrier(0));
    watched.check(step);
    watched.check(step);
    EXPECT_EQ(log.count("carrier weft0 goes on after 360 ms in one task"), 1) << log.text();
    EXPECT_EQ(log.count("weft1"), 0) << log.text();
#ifndef WEFT_SANITIZED_THREAD  // delays signals until the thread makes a system call
    EXPECT_EQ(log.count("carrier weft0 has been in one task for 120 ms: fiber ", " 'spinner'"), 1) << log.text();
    EXPECT_EQ(log.count("  weft0 #0 "), 1) << log.text();
    EXPECT_EQ(log.count("  weft0 #2 "), 1) << log.text();
#endif
}

TEST(CarrierWatchdogTest, ACarrierThatRunsShortTasksOrSleepsIsNotReported) {
    LogCapture log;
    CarrierGroup group(carriers(1));
    StuckCarriers watched(group, limit, SIGRTMIN + 4);
    for (int i = 0; i < 100; ++i) {
        group.carrier(0).spawn([] {}).join();
        watched.check(step);
    }
    awaitSleep(group.carrier(0));
    for (int i = 0; i < 100; ++i) watched.check(step);
    EXPECT_EQ(log.count("in one task"), 0) << log.text();
}

TEST(CarrierWatchdogTest, AnEventLoopThatSleepsInItsPollerIsNotReported) {
    LogCapture log;
    test::LoopWithoutIo hosted;
    StuckCarriers watched(hosted.group, limit, SIGRTMIN + 4);
    hosted.inDispatch([] {});
    awaitSleep(hosted.carrier);
    for (int i = 0; i < 100; ++i) watched.check(step);
    EXPECT_EQ(log.count("in one task"), 0) << log.text();
}

TEST(CarrierWatchdogTest, ATaskThatBlocksItsEventLoopIsReported) {
    LogCapture log;
    test::LoopWithoutIo hosted;
    StuckCarriers watched(hosted.group, limit, SIGRTMIN + 4);
    awaitUnblockedSignal(hosted.group);
    hosted.inDispatch([&] {
        std::thread([&] {
            for (int i = 0; i < 4; ++i) watched.check(step);
        }).join();
    });
    EXPECT_EQ(log.count("carrier weft0 has been in one task for 120 ms: "), 1) << log.text();
#ifndef WEFT_SANITIZED_THREAD
    EXPECT_EQ(log.count(" ms: poller ", " 'event-loop'"), 1) << log.text();
#endif
}

// Its turns are progress, although it neither sleeps nor lets a fiber run.
TEST(CarrierWatchdogTest, APollerThatSpinsIsNotReported) {
    LogCapture log;
    CarrierGroup group(carriers(1));
    StuckCarriers watched(group, limit, SIGRTMIN + 4);
    std::atomic<std::uint64_t> turns{0};
    Future<void> ended = group.carrier(0).registerPinnedPoller([] {},
                                                               [&](PinnedPoller& poller) {
                                                                   while (!poller.stopRequested()) {
                                                                       poller.maybeYield(true);
                                                                       ++turns;
                                                                   }
                                                               });
    for (int i = 0; i < 20; ++i) {
        const std::uint64_t seen = turns;
        while (turns == seen) std::this_thread::yield();
        watched.check(step);
    }
    EXPECT_EQ(log.count("in one task"), 0) << log.text();
    group.beginShutdown();
    ended.await();
}

TEST(CarrierWatchdogTest, ACarrierThatHasEndedIsNotReported) {
    LogCapture log;
    CarrierGroup group(carriers(1));
    StuckCarriers watched(group, limit, SIGRTMIN + 4);
    ASSERT_TRUE(group.shutdown(1min));
    for (int i = 0; i < 100; ++i) watched.check(step);
    EXPECT_EQ(log.count("in one task"), 0) << log.text();
}

TEST(CarrierWatchdogTest, TheThreadReportsAStuckCarrierAndThatItGoesOn) {
    LogCapture log;
    CarrierGroup group(carriers(1));
    const CarrierWatchdog watchdog(group, {.limit = 1ms, .interval = 1ms});
    EXPECT_TRUE(watchdog.enabled());
    {
        const Spinner spinner(group.carrier(0));
        EXPECT_TRUE(log.await("carrier weft0 has been in one task for "));
    }
    EXPECT_TRUE(log.await("carrier weft0 goes on after "));
}

TEST(CarrierWatchdogTest, WithoutASignalTheReportHasNoStack) {
    LogCapture log;
    CarrierGroup group(carriers(1));
    StuckCarriers watched(group, limit, 0);
    const Spinner spinner(group.carrier(0));
    for (int i = 0; i < 3; ++i) watched.check(step);
    EXPECT_EQ(log.count("has been in one task for 120 ms: its stack could not be taken"), 1) << log.text();
}

StuckCarriers* endedByItsReport = nullptr;
std::atomic<int> reportsUntilTheEnd{0};

TEST(CarrierWatchdogTest, AWatchdogThatEndsReportsNoFurtherCarrier) {
    CarrierGroup group(carriers(2));
    StuckCarriers watched(group, limit, 0);
    const Spinner first(group.carrier(0));
    const Spinner second(group.carrier(1));
    endedByItsReport = &watched;
    reportsUntilTheEnd = 0;
    setLogSink([](LogLevel, std::string_view line) noexcept {
        if (line.find("has been in one task") == std::string_view::npos) return;
        ++reportsUntilTheEnd;
        endedByItsReport->end();
    });
    for (int i = 0; i < 5; ++i) watched.check(step);
    setLogSink(nullptr);
    EXPECT_EQ(reportsUntilTheEnd, 1);
}

TEST(CarrierWatchdogTest, WithoutALimitThereIsNoWatchdog) {
    CarrierGroup group(carriers(1));
    EXPECT_FALSE(CarrierWatchdog(group).enabled());
    EXPECT_FALSE(CarrierWatchdog(group, {.limit = 0ms}).enabled());
}

TEST(CarrierWatchdogTest, TheLimitMayComeFromTheEnvironment) {
    CarrierGroup group(carriers(1));
    ::setenv("WEFT_WATCHDOG_MS", "60000", 1);
    EXPECT_TRUE(CarrierWatchdog(group).enabled());
    ::setenv("WEFT_WATCHDOG_MS", "soon", 1);
    EXPECT_THROW(CarrierWatchdog{group}, ConfigurationError);
    ::unsetenv("WEFT_WATCHDOG_MS");
}

TEST(CarrierWatchdogTest, OptionsOutOfRangeAreRefused) {
    CarrierGroup group(carriers(1));
    EXPECT_THROW(CarrierWatchdog(group, {.limit = -1ms}), ConfigurationError);
    EXPECT_THROW(CarrierWatchdog(group, {.limit = 2h}), ConfigurationError);
    EXPECT_THROW(CarrierWatchdog(group, {.limit = 1s, .interval = 0ms}), ConfigurationError);
    EXPECT_THROW(CarrierWatchdog(group, {.limit = 1s, .signal = 1000}), std::invalid_argument);
    EXPECT_THROW(CarrierWatchdog(group, {.limit = 1s, .signal = SIGKILL}), std::invalid_argument);
}

TEST(CarrierWatchdogTest, ASignalWithAHandlerOfTheProgramIsRefused) {
    struct sigaction own = {}, before = {};
    own.sa_handler = [](int) {};
    ::sigaction(SIGRTMIN + 5, &own, &before);
    CarrierGroup group(carriers(1));
    EXPECT_THROW(CarrierWatchdog(group, {.limit = 1s, .signal = SIGRTMIN + 5}), std::invalid_argument);
    ::sigaction(SIGRTMIN + 5, &before, nullptr);
}

// A forked process may inherit the address sanitizer's allocator locked, and the thread sanitizer ends one that starts
// threads.
#ifndef WEFT_SANITIZED
TEST(CarrierWatchdogTest, AForkedProcessDestroysItWithoutAWait) {
    CarrierGroup group(carriers(1));
    auto watchdog = std::make_unique<CarrierWatchdog>(group, CarrierWatchdogOptions{.limit = 1h});
    while (!test::threadSleeps("weft-watchdog")) std::this_thread::yield();  // on its condition variable
    EXPECT_EQ(test::resultOfFork([&] {
                  const bool enabled = watchdog->enabled();
                  watchdog.reset();
                  return enabled ? 1 : 0;
              }),
              0);
    EXPECT_TRUE(watchdog->enabled());
}

class Blocked {
  public:
    explicit Blocked(int signal) : signal_(signal) {
        ::sigemptyset(&set_);
        ::sigaddset(&set_, signal_);
        ::pthread_sigmask(SIG_BLOCK, &set_, &former_);
    }
    ~Blocked() { end(); }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;

    void end() const { ::pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
    void awaitPending() const {
        sigset_t pending;
        do {
            ::sigpending(&pending);
        } while (::sigismember(&pending, signal_) == 0);
    }

  private:
    const int signal_;
    sigset_t set_, former_;
};

TEST(CarrierWatchdogTest, AProcessThatIsForkedDuringASampleTakesSamplesOfItsOwn) {
    const int signal = SIGRTMIN + 4;
    detail::handleSampleSignal(signal);
    // From another thread, of this one.
    const auto takeSample = [signal](bool& taken) {
        return std::thread([signal, &taken, threadId = ::gettid()] {
            detail::StackSample sample;
            taken = detail::takeSample(threadId, signal, 1min, sample) && !sample.frames.empty();
        });
    };
    bool taken = false;
    std::thread sampler;
    {
        const Blocked blocked(signal);
        sampler = takeSample(taken);
        blocked.awaitPending();
        EXPECT_EQ(test::resultOfFork([&] {
                      bool ownTaken = false;
                      std::thread own = takeSample(ownTaken);
                      blocked.awaitPending();
                      blocked.end();
                      own.join();
                      return ownTaken ? 0 : 1;
                  }),
                  0);
    }
    sampler.join();
    EXPECT_TRUE(taken);
}
#endif

}  // namespace
}  // namespace weft
