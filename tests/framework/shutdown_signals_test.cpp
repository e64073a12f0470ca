// ShutdownSignals: which signals end the wait, and how it treats signals that the process already ignores.
#include <weft/framework/run_until_signal.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include <unistd.h>

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
