// OnSignal: a call at each signal, on a thread of its own; failures are logged; ShutdownSignals leaves the signal
// alone.
#include <weft/framework/on_signal.hpp>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include <weft/framework/fibers_on_signal.hpp>
#include <weft/framework/run_until_signal.hpp>

#include "framework/bench.hpp"
#include "support/forked_process.hpp"
#include "support/log_capture.hpp"
#include "support/sanitized.hpp"

namespace weft::test {
namespace {

// Creates the descriptors that stay open for the process's life, so that no test counts them as leaks.
[[maybe_unused]] const bool theSignalsWereTaken = [] {
    for (const int signal : {SIGHUP, SIGTERM, SIGUSR1}) const OnSignal once(signal, [] {});
    const ShutdownSignals signals;
    return true;
}();

void raiseInProcess(int signal) {
    ASSERT_EQ(::kill(::getpid(), signal), 0);
}

TEST(OnSignalTest, EachSignalCallsTheFunctionOnAThreadOfItsOwn) {
    std::atomic<int> calls{0};
    std::atomic<bool> elsewhere{false};
    const OnSignal onSignal(SIGUSR1, [&, here = std::this_thread::get_id()] {
        elsewhere = std::this_thread::get_id() != here;
        ++calls;
    });
    for (int i = 1; i <= 3; ++i) {
        raiseInProcess(SIGUSR1);
        ASSERT_TRUE(eventually([&] { return calls == i; }));
    }
    EXPECT_TRUE(elsewhere);
}

// The end of an object leaves an event behind.
TEST(OnSignalTest, AnEarlierObjectsEndCallsNothing) {
    std::atomic<int> calls{0};
    for (int i = 0; i < 50; ++i) {
        const OnSignal onSignal(SIGUSR1, [&] { ++calls; });
        if (i % 2 == 0) raiseInProcess(SIGUSR1);
    }
    const int before = calls;
    EXPECT_LE(before, 25);
    std::atomic<bool> called{false};
    const OnSignal onSignal(SIGUSR1, [&] { called = true; });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(called);
}

TEST(OnSignalTest, WhatTheFunctionThrowsIsLoggedAndTheNextSignalCallsItAgain) {
    LogCapture log;
    std::atomic<int> calls{0};
    const OnSignal onSignal(SIGUSR1, [&] {
        if (++calls == 1) throw std::runtime_error("server.key cannot be read");
        throw 7;
    });
    raiseInProcess(SIGUSR1);
    EXPECT_TRUE(log.await("the function for signal 10 failed: server.key cannot be read"));
    raiseInProcess(SIGUSR1);
    EXPECT_TRUE(log.await("the function for signal 10 threw what is not a std::exception"));
}

TEST(OnSignalTest, TheFormerHandlerComesBack) {
    const auto former = std::signal(SIGUSR1, SIG_IGN);
    {
        const OnSignal onSignal(SIGUSR1, [] {});
    }
    EXPECT_EQ(std::signal(SIGUSR1, former), SIG_IGN);
    {
        const OnSignal onSignal(SIGUSR1, [] {});
    }
    {
        const OnSignal onSignal(SIGUSR1, [] {});
        std::signal(SIGUSR1, SIG_IGN);  // the program's choice, meanwhile
    }
    EXPECT_EQ(std::signal(SIGUSR1, former), SIG_IGN);
}

TEST(OnSignalTest, WhatCannotBeHandledIsRefused) {
    EXPECT_THROW(OnSignal(SIGKILL, [] {}), std::invalid_argument);
    EXPECT_THROW(OnSignal(0, [] {}), std::invalid_argument);
    EXPECT_THROW(OnSignal(1000, [] {}), std::invalid_argument);
    EXPECT_THROW(OnSignal(SIGUSR1, {}), std::invalid_argument);
    const OnSignal onSignal(SIGUSR1, [] {});
    EXPECT_THROW(OnSignal(SIGUSR1, [] {}), std::logic_error);
    CarrierOptions options;
    options.carriers = 1;
    CarrierGroup group(options);
    EXPECT_THROW(FibersOnSignal(group, "/nowhere", SIGUSR1), std::logic_error);
}

// Neither order makes a SIGTERM of the program a shutdown.
TEST(OnSignalTest, ShutdownSignalsLeavesTheSignalToIt) {
    for (const int signal : {SIGHUP, SIGTERM}) {
        for (const bool first : {true, false}) {
            std::atomic<int> calls{0};
            std::unique_ptr<OnSignal> onSignal;
            const auto make = [&] { onSignal = std::make_unique<OnSignal>(signal, [&] { ++calls; }); };
            if (first) make();
            ShutdownSignals signals;
            if (!first) make();
            raiseInProcess(signal);
            EXPECT_TRUE(eventually([&] { return calls == 1; })) << signal << first;
            raiseInProcess(SIGINT);
            EXPECT_EQ(signals.wait(), SIGINT);
            if (!first) onSignal.reset();
        }
    }
}

#ifndef WEFT_SANITIZED_THREAD  // which does not know threads of a forked process
TEST(OnSignalTest, AForkedProcessMayHaveAnObjectOfItsOwn) {
    auto onSignal = std::make_unique<OnSignal>(SIGUSR1, [] {});
    EXPECT_EQ(resultOfFork([&] {
                  std::atomic<bool> called{false};
                  const OnSignal own(SIGUSR1, [&] { called = true; });
                  std::raise(SIGUSR1);
                  const bool wasCalled = eventually([&] { return called.load(); });
                  onSignal.reset();
                  return wasCalled ? 0 : 1;
              }),
              0);
}
#endif

}  // namespace
}  // namespace weft::test
