// runUntilSignal(): it drains, answers and returns 0; a second signal or a handler that never returns ends the process.
// ShutdownSignals alone: shutdown_signals_test.cpp.
#include <weft/framework/run_until_signal.hpp>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "framework/drain_bench.hpp"

namespace weft::test {
namespace {

// Creates the descriptor that stays open for the process's life, so that no test counts it as a leak.
[[maybe_unused]] const bool signalsWereTaken = (ShutdownSignals(), true);

TEST(RunUntilSignalTest, DrainsAnswersAndReturnsZero) {
    DescriptorGuard before;
    const auto former = std::signal(SIGHUP, SIG_DFL);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        EventLoopGroup group(groupOptions(2));
        Gate gate;
        Server server = serveHttp(group, gate);
        const ShutdownSignals signals;  // from here on a signal is kept
        BlockingPeer peer(server.localAddress());
        peer.send(waitRequest);
        gate.asked.future().get();
        ::kill(::getpid(), signal);
        std::thread opener([&] {
            EXPECT_TRUE(eventually([&] { return server.listeners()[0]->closed(); }));
            gate.open.setValue();
        });
        EXPECT_EQ(runUntilSignal(group), 0);
        opener.join();
        EXPECT_NE(receiveAll(peer).find("at last"), std::string::npos);
    }
    std::signal(SIGHUP, former);
}

// Each runs in its own process, because it ends the process.
void signalAndRun(Duration drainTime, Duration shutdownTime, std::function<void(Server&)> meanwhile, bool stuck) {
    std::atomic<bool> release{false};
    Gate gate;
    EventLoopGroup group(groupOptions(1));
    Server http = serveHttp(group, gate);
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([&](Channel& channel) { channel.pipeline().addLast<Stuck>(release); });
    Server echo = bootstrap.bind(anyPort).sync().channel();
    const ShutdownSignals signals;
    BlockingPeer waits(http.localAddress());
    waits.send(waitRequest);
    gate.asked.future().get();
    BlockingPeer sticks(echo.localAddress());
    EXPECT_EQ(echoed(sticks, "1"), "1");
    if (stuck) {
        sticks.send("stick");
        EXPECT_TRUE(eventually([] { return Stuck::stuck.load(); }));
    }
    std::thread companion([&] { meanwhile(http); });
    ::kill(::getpid(), SIGTERM);
    std::_Exit(runUntilSignal(group, drainTime, shutdownTime) == 0 ? 0 : 99);
}

TEST(RunUntilSignalDeathTest, ASecondSignalEndsTheProcessAtOnce) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto again = [](Server& server) {
        EXPECT_TRUE(eventually([&] { return server.listeners()[0]->closed(); }));
        for (;;) ::kill(::getpid(), SIGTERM);  // those that only repeat the first are ignored
    };
    EXPECT_EXIT(signalAndRun(1h, 1h, again, false), testing::KilledBySignal(SIGTERM), "");
}

TEST(RunUntilSignalDeathTest, AHandlerThatNeverReturnsIsNamedAndTheProcessEnds) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(signalAndRun(
                    1ms, 1ms, [](Server&) {}, true),
                testing::ExitedWithCode(runFailed), "carrier test0 does not end: a handler");
}

}  // namespace
}  // namespace weft::test
