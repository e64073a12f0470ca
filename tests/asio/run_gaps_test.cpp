// Posts and releases of other threads hit every gap between "nothing to do" and a sleep inside Asio, or the end of
// run(): none is lost. WEFT_ASIO_ROUNDS sets the rounds of each test (scripts/prove: 1,000,000).
#include <weft/asio_io/context.hpp>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier.hpp>

#include <weft/testing/poller_bench.hpp>

#include "support/sanitized.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;

unsigned rounds() {
    if (const char* given = std::getenv("WEFT_ASIO_ROUNDS")) return static_cast<unsigned>(std::stoul(given));
#ifdef WEFT_SANITIZED
    return 1'000;
#else
    return 4'000;
#endif
}

// Posts `rounds()` functions, each a random time after the previous one has run.
void postOneByOne(Context& context) {
    test::Jitter jitter(1);
    std::atomic<unsigned> ran{0};
    for (unsigned i = 1; i <= rounds(); ++i) {
        asio::post(context, [&] { ++ran; });
        while (ran.load() != i) std::this_thread::yield();
        for (unsigned pauses = i % 8 == 0 ? 16 : 1; pauses > 0; --pauses) jitter.pause();  // sometimes until it sleeps
    }
}

std::uint64_t sleepsOf(Context& context) {
    Carrier& carrier = *context.loop().carrier();
    return carrier.spawn([&] { return carrier.stats().parks; }).join();
}

TEST(RunGaps, NoPostIsLostWhileOtherWorkIsOutstanding) {
    Context context;
    auto guard = asio::make_work_guard(context);
    std::size_t ran = 0;
    std::thread runner([&] { ran = context.run(); });
    postOneByOne(context);
    guard.reset();
    runner.join();
    EXPECT_EQ(ran, rounds());
    RecordProperty("sleeps", static_cast<int>(sleepsOf(context)));
    EXPECT_GT(sleepsOf(context), rounds() / 1000) << "or the gaps before a sleep were not there";
}

TEST(RunGaps, NoPostIsLostWhileRunEndsForWantOfWork) {
    Context context;
    std::atomic<bool> over{false};
    std::size_t ran = 0, runs = 0;
    std::thread runner([&] {
        while (!over) {
            ran += context.run();
            ++runs;
            context.restart();
        }
    });
    postOneByOne(context);
    over = true;
    runner.join();
    EXPECT_EQ(ran + context.run(), rounds());
    EXPECT_GT(runs, 0u);
}

TEST(RunGapsOfWork, TheReleaseOfTheLastWorkEndsASleepingRun) {
    Context context;
    test::Jitter jitter(2);
    for (unsigned i = 0; i < rounds() / 10; ++i) {
        std::atomic<bool> running{false};
        auto guard = asio::make_work_guard(context);
        asio::post(context, [&] { running = true; });
        std::thread runner([&] { EXPECT_EQ(context.run(), 1u); });
        while (!running) std::this_thread::yield();
        jitter.pause();
        guard.reset();
        runner.join();
        context.restart();
    }
}

TEST(RunGapsOfWork, AStopOfAnotherThreadEndsASleepingRun) {
    Context context;
    auto guard = asio::make_work_guard(context);
    test::Jitter jitter(3);
    for (unsigned i = 0; i < rounds() / 10; ++i) {
        std::atomic<bool> running{false};
        asio::post(context, [&] { running = true; });
        std::thread runner([&] { EXPECT_EQ(context.run(), 1u); });
        while (!running) std::this_thread::yield();
        jitter.pause();
        context.stop();
        runner.join();
        context.restart();
    }
}

}  // namespace
}  // namespace weft::asio_io
