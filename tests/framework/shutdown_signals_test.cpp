// ShutdownSignals: which signals end the wait, what it gives back at its end, and how it treats signals that the
// process already ignores. runUntilSignal(): run_until_signal_test.cpp.
#include <weft/framework/run_until_signal.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <unistd.h>

#include "framework/bench.hpp"
#include "support/forked_process.hpp"
#include "support/log_capture.hpp"
#include "support/threads.hpp"

namespace weft::test {
namespace {

// Creates the descriptor that stays open for the process's life, so that no test counts it as a leak.
[[maybe_unused]] const bool signalsWereTaken = (ShutdownSignals(), true);

bool isIgnored(int signal) {
    struct sigaction now = {};
    ::sigaction(signal, nullptr, &now);
    return now.sa_handler == SIG_IGN;
}

class Ignored {
  public:
    explicit Ignored(int signal) : signal_(signal) {
        struct sigaction ignore = {};
        ignore.sa_handler = SIG_IGN;
        ::sigaction(signal_, &ignore, &former_);
    }
    ~Ignored() { ::sigaction(signal_, &former_, nullptr); }

  private:
    const int signal_;
    struct sigaction former_ = {};
};

// Sends `signal` once this thread sleeps in wait(), unless wait() returns at once; returns the result of wait().
int waitFor(ShutdownSignals& signals, int signal) {
    std::atomic<bool> returned{false};
    std::atomic<bool> waits{false};
    const pid_t waiter = ::gettid();
    std::thread sender([&] {
        while (!waits) std::this_thread::yield();
        while (!returned && !threadSleeps(waiter)) std::this_thread::yield();
        if (!returned) ::kill(::getpid(), signal);
    });
    waits = true;
    const int got = signals.wait();
    returned = true;
    sender.join();
    return got;
}

TEST(ShutdownSignalsTest, AreGivenBackAfterwards) {
    struct sigaction before = {};
    struct sigaction during = {};
    struct sigaction after = {};
    ::sigaction(SIGTERM, nullptr, &before);
    {
        ShutdownSignals signals;
        ::sigaction(SIGTERM, nullptr, &during);
        EXPECT_NE(during.sa_handler, before.sa_handler);
        ::kill(::getpid(), SIGTERM);
        EXPECT_EQ(signals.wait(), SIGTERM);
    }
    ::sigaction(SIGTERM, nullptr, &after);
    EXPECT_EQ(after.sa_handler, before.sa_handler);
}

// If the machine stops the process for repeatTime between the signals, it dies rightly; then the test tries again.
TEST(ShutdownSignalsTest, ASignalThatIsRepeatedAtOnceIsOneSignal) {
    using Time = std::chrono::steady_clock;
    const auto repeat = [] {
        ShutdownSignals signals;
        std::raise(SIGTERM);
        signals.wait();
        for (const int signal : {SIGTERM, SIGINT}) std::raise(signal);
        return 0;
    };
    for (;;) {
        const Time::time_point before = Time::now();
        if (resultOfFork(repeat) == 0) return;
        if (Time::now() - before < ShutdownSignals::repeatTime) FAIL() << "the repeated signal has ended the process";
    }
}

TEST(ShutdownSignalsDeathTest, ALaterSignalHasItsFormerEffect) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto insist = [] {
        ShutdownSignals signals;
        std::raise(SIGTERM);
        signals.wait();
        const TimePoint later = Clock::steady().now() + ShutdownSignals::repeatTime;
        while (Clock::steady().now() < later) std::raise(SIGINT);
        std::raise(SIGINT);
        std::exit(0);
    };
    EXPECT_EXIT(insist(), testing::KilledBySignal(SIGINT), "");
}

// Restores what the test makes of SIGHUP.
class HangUp {
  public:
    explicit HangUp(void (*handler)(int)) { std::signal(SIGHUP, handler); }
    ~HangUp() { ::sigaction(SIGHUP, &former_, nullptr); }
    static auto handler() {
        struct sigaction now = {};
        ::sigaction(SIGHUP, nullptr, &now);
        return now.sa_handler;
    }

  private:
    struct sigaction former_ = [] {
        struct sigaction now = {};
        ::sigaction(SIGHUP, nullptr, &now);
        return now;
    }();
};

TEST(ShutdownSignalsTest, AHangUpEndsTheWait) {
    const HangUp hangUp(SIG_DFL);
    {
        ShutdownSignals signals;
        EXPECT_EQ(waitFor(signals, SIGHUP), SIGHUP);
    }
    EXPECT_EQ(HangUp::handler(), SIG_DFL);
}

void own(int) {}

TEST(ShutdownSignalsTest, AHangUpThatTheProgramHandlesStaysItsOwn) {
    for (void (*const handler)(int) : {&own, SIG_IGN}) {
        const HangUp hangUp(handler);
        const ShutdownSignals signals;
        EXPECT_EQ(HangUp::handler(), handler);
    }
    const HangUp hangUp(SIG_DFL);
    {
        const ShutdownSignals signals;
        std::signal(SIGHUP, &own);  // as TraceOnSignal, made later
    }
    EXPECT_EQ(HangUp::handler(), &own);
}

TEST(ShutdownSignalsTest, MayNotBeAwaitedOnACarrier) {
    EventLoopGroup group(groupOptions(1));
    ShutdownSignals signals;
    EXPECT_THROW(group.carriers().carrier(0).spawn([&] { return signals.wait(); }).join(), BlockingOperationException);
}

TEST(ShutdownSignalsTest, ASignalThatCameBeforeTheWaitIsKept) {
    ShutdownSignals signals;
    std::raise(SIGTERM);
    EXPECT_EQ(signals.wait(), SIGTERM);
}

TEST(ShutdownSignalsTest, ASignalOfAnEarlierObjectIsForgotten) {
    {
        ShutdownSignals earlier;
        std::raise(SIGTERM);
    }
    ShutdownSignals signals;
    EXPECT_EQ(waitFor(signals, SIGINT), SIGINT);
}

TEST(ShutdownSignalsTest, ASecondSignalBeforeTheEndOfALifeIsForgottenByTheNext) {
    {
        ShutdownSignals earlier;
        std::raise(SIGTERM);
        std::raise(SIGTERM);
        EXPECT_EQ(earlier.wait(), SIGTERM);
    }
    ShutdownSignals signals;
    EXPECT_EQ(waitFor(signals, SIGINT), SIGINT);
}

TEST(ShutdownSignalsTest, AnInnerObjectDoesNotDiscardSignalsForTheOuterOne) {
    ShutdownSignals outer;
    std::raise(SIGTERM);
    ShutdownSignals inner;
    EXPECT_EQ(inner.wait(), SIGTERM);
}

// As a shell ignores SIGINT for programs that it starts in the background.
TEST(ShutdownSignalsTest, ASignalThatWasIgnoredStaysIgnored) {
    const Ignored interrupt(SIGINT);
    {
        ShutdownSignals signals;
        EXPECT_TRUE(isIgnored(SIGINT));
        std::raise(SIGINT);
        EXPECT_EQ(waitFor(signals, SIGTERM), SIGTERM);
        EXPECT_TRUE(isIgnored(SIGINT));
    }
    EXPECT_TRUE(isIgnored(SIGINT));
    EXPECT_FALSE(isIgnored(SIGTERM));
}

TEST(ShutdownSignalsTest, IgnoringBothSignalsIsLogged) {
    const Ignored interrupt(SIGINT);
    const Ignored terminate(SIGTERM);
    LogCapture log;
    const ShutdownSignals signals;
    EXPECT_TRUE(isIgnored(SIGINT));
    EXPECT_TRUE(isIgnored(SIGTERM));
    EXPECT_EQ(log.count("SIGINT", "SIGTERM", "ignored"), 1);
}

}  // namespace
}  // namespace weft::test
