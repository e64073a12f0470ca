#include <weft/pipeline/detail/limited_log.hpp>

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/manual_clock.hpp>

#include "support/log_capture.hpp"

namespace weft::detail {
namespace {

using namespace std::chrono_literals;

TEST(LimitedLog, ASecondHasSoManyLinesAndTheNextSaysHowManyWereLeftOut) {
    const test::LogCapture log;
    ManualClock clock;
    LimitedLog limited(clock);
    const auto say = [&](int times) {
        for (int i = 0; i < times; ++i) limited.write(LogLevel::warning, {"fault ", "again"});
    };
    say(100);
    EXPECT_EQ(log.count("fault again"), static_cast<int>(LimitedLog::linesPerSecond));
    clock.advance(999ms);
    say(3);
    EXPECT_EQ(log.count("fault again"), static_cast<int>(LimitedLog::linesPerSecond)) << "the same second";
    clock.advance(1ms);
    say(2);
    EXPECT_EQ(log.count("fault again (93 similar lines were suppressed)"), 1) << log.text();
    EXPECT_EQ(log.count("suppressed"), 1) << "they are counted once";
    EXPECT_EQ(log.count("fault again"), static_cast<int>(LimitedLog::linesPerSecond) + 2);
}

TEST(LimitedLog, ALineAfterALongSilenceIsLogged) {
    const test::LogCapture log;
    ManualClock clock;
    LimitedLog limited(clock);
    for (int i = 0; i < 5; ++i) {
        limited.write(LogLevel::warning, {"rare"});
        clock.advance(24h * 365 * 100);
    }
    EXPECT_EQ(log.count("rare"), 5);
    EXPECT_EQ(log.count("suppressed"), 0);
}

TEST(LimitedLog, AVeryLongLineIsCutAndKeepsNothingElseFromBeingLogged) {
    const test::LogCapture log;
    ManualClock clock;
    LimitedLog limited(clock);
    for (unsigned i = 0; i <= LimitedLog::linesPerSecond; ++i)
        limited.write(LogLevel::warning, {std::string(5000, 'x')});
    clock.advance(1s);
    limited.write(LogLevel::warning, {std::string(5000, 'x')});
    limited.write(LogLevel::warning, {"short"});
    EXPECT_EQ(log.count("short"), 1);
}

TEST(LimitedLog, LinesOfManyThreadsAreEitherLoggedOrCounted) {
    const test::LogCapture log;
    ManualClock clock;
    LimitedLog limited(clock);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 1000; ++i) limited.write(LogLevel::warning, {"from a thread"});
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(log.count("from a thread"), static_cast<int>(LimitedLog::linesPerSecond));
    clock.advance(1s);
    limited.write(LogLevel::warning, {"from a thread"});
    EXPECT_EQ(log.count("from a thread (3990 similar lines were suppressed)"), 1) << log.text();
}

}  // namespace
}  // namespace weft::detail
