// Context as a replacement for io_context: behaviour and results of run() and its variants.
#include <weft/asio_io/context.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/manual_clock.hpp>

#include "support/log_capture.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

asio::io_context& plain(Context& context) {
    return context;
}

TEST(AsioContext, NothingRunsBeforeRunAndRunReturnsHowManyHandlersRan) {
    Context context;
    std::vector<int> ran;
    asio::post(context, [&] { ran.push_back(1); });
    asio::post(context, [&] { ran.push_back(2); });
    EXPECT_TRUE(ran.empty());
    EXPECT_EQ(context.run(), 2u);
    EXPECT_EQ(ran, (std::vector<int>{1, 2}));
    EXPECT_TRUE(context.stopped());
}

TEST(AsioContext, WithoutWorkRunReturnsAtOnceAndRestartLetsItRunAgain) {
    Context context;
    EXPECT_EQ(context.run(), 0u);
    EXPECT_TRUE(context.stopped());
    asio::post(context, [] {});
    EXPECT_EQ(context.run(), 0u) << "stopped: as io_context's";
    context.restart();
    EXPECT_EQ(context.run(), 1u);
}

TEST(AsioContext, WorkThatIsMadeThroughAnIoContextCounts) {
    Context context;
    int ran = 0;
    asio::post(plain(context), [&] { ++ran; });
    asio::steady_timer timer(plain(context), 5ms);
    timer.async_wait([&](auto error) {
        EXPECT_FALSE(error);
        ++ran;
    });
    EXPECT_EQ(context.run(), 2u);
    EXPECT_EQ(ran, 2);
}

TEST(AsioContext, AWorkGuardKeepsItRunningUntilItsRelease) {
    Context context;
    auto guard = std::make_unique<asio::executor_work_guard<Context::executor_type>>(context.get_executor());
    std::atomic<bool> returned{false};
    std::thread runner([&] {
        context.run();
        returned = true;
    });
    std::atomic<int> ran{0};
    for (int i = 0; i < 100; ++i) {
        asio::post(context, [&] { ++ran; });
        while (ran != i + 1) std::this_thread::yield();
        EXPECT_FALSE(returned);
    }
    guard.reset();
    runner.join();
    EXPECT_EQ(ran, 100);
}

TEST(AsioContext, StopReturnsFromRunAndWhatWasReadyRunsAfterRestart) {
    Context context;
    int ran = 0;
    asio::post(context, [&] {
        ++ran;
        context.stop();
    });
    asio::post(context, [&] { ++ran; });
    EXPECT_EQ(context.run(), 1u);
    EXPECT_TRUE(context.stopped());
    EXPECT_EQ(ran, 1);
    context.restart();
    EXPECT_EQ(context.run(), 1u);
    EXPECT_EQ(ran, 2);
}

TEST(AsioContext, StopOfAnotherThreadEndsARunThatSleeps) {
    Context context;
    auto guard = asio::make_work_guard(context.get_executor());
    std::thread stopper([&] { context.stop(); });
    context.run();
    stopper.join();
    EXPECT_TRUE(context.stopped());
}

TEST(AsioContext, StopThroughTheIoContextEndsRunToo) {
    Context context;
    auto guard = asio::make_work_guard(context.get_executor());
    asio::post(context, [&] { plain(context).stop(); });
    EXPECT_EQ(context.run(), 1u);
    EXPECT_TRUE(context.stopped());
}

TEST(AsioContext, RunOneRunsOneHandler) {
    Context context;
    int ran = 0;
    for (int i = 0; i < 3; ++i) asio::post(context, [&] { ++ran; });
    for (int i = 0; i < 3; ++i) asio::post(plain(context), [&] { ++ran; });
    for (int i = 1; i <= 6; ++i) {
        EXPECT_EQ(context.run_one(), 1u);
        EXPECT_EQ(ran, i);
    }
    EXPECT_EQ(context.run_one(), 0u);
}

TEST(AsioContext, WhatAHandlerSubmitsWaitsForTheNextRunOne) {
    Context context;
    int ran = 0;
    asio::post(context, [&] {
        for (int i = 0; i < 2; ++i) asio::post(context, [&] { ++ran; });
    });
    EXPECT_EQ(context.run_one(), 1u);
    EXPECT_EQ(ran, 0);
    EXPECT_FALSE(context.stopped()) << "the two are work";
    EXPECT_EQ(context.run_one(), 1u);
    EXPECT_EQ(context.run(), 1u);
    EXPECT_EQ(ran, 2);
    EXPECT_TRUE(context.stopped());
}

TEST(AsioContext, PollNeverWaitsAlsoNotBesideARunThatDoes) {
    Context context;
    asio::steady_timer timer(context, 1h);
    timer.async_wait([](auto) {});
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(context.poll(), 0u);
        EXPECT_EQ(context.poll_one(), 0u);
    }
    std::thread runner([&] { EXPECT_EQ(context.run(), 2u); });
    for (int i = 0; i < 10; ++i) EXPECT_EQ(context.poll(), 0u);
    asio::post(context, [&] { timer.cancel(); });
    runner.join();
}

TEST(AsioContext, PollRunsWhatIsReadyAndDoesNotWait) {
    Context context;
    int ran = 0;
    asio::steady_timer timer(context, 1h);
    timer.async_wait([&](auto error) {
        EXPECT_EQ(error, asio::error::operation_aborted);
        ++ran;
    });
    EXPECT_EQ(context.poll(), 0u);
    EXPECT_FALSE(context.stopped());
    for (int i = 0; i < 3; ++i) asio::post(context, [&] { ++ran; });
    EXPECT_EQ(context.poll_one(), 1u);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(context.poll(), 2u);
    timer.cancel();
    EXPECT_EQ(context.poll(), 1u);
    EXPECT_EQ(ran, 4);
    EXPECT_TRUE(context.stopped());
}

TEST(AsioContext, RunForReturnsAfterItsTimeAndGoesOnLater) {
    Context context;
    asio::steady_timer timer(context, 1h);
    bool fired = false;
    timer.async_wait([&](auto) { fired = true; });
    EXPECT_EQ(context.run_for(3ms), 0u);
    EXPECT_EQ(context.run_one_for(1ms), 0u);
    EXPECT_FALSE(context.stopped());
    EXPECT_FALSE(fired);
    timer.expires_after(0s);
    timer.async_wait([&](auto) { fired = true; });
    EXPECT_EQ(context.run_for(std::chrono::hours::max()), 2u);
    EXPECT_TRUE(fired);
}

TEST(AsioContext, HandlersRunOnItsCarrierOneAtATime) {
    Context context;
    const auto check = [&] {
        EXPECT_EQ(Carrier::current(), context.loop().carrier());
        EXPECT_TRUE(context.get_executor().running_in_this_thread());
    };
    asio::post(context, check);
    asio::post(plain(context), check);
    EXPECT_EQ(context.run(), 2u);
    EXPECT_FALSE(context.get_executor().running_in_this_thread());
}

TEST(AsioContext, AThrowingHandlerEndsRunAndRunGoesOn) {
    Context context;
    int ran = 0;
    asio::post(context, [] { throw std::runtime_error("first"); });
    asio::post(context, [&] { ++ran; });
    asio::post(plain(context), [] { throw std::runtime_error("second"); });
    asio::post(plain(context), [&] { ++ran; });
    int thrown = 0;
    for (;;) {
        try {
            context.run();
            break;
        } catch (const std::runtime_error&) {
            ++thrown;
        }
    }
    EXPECT_EQ(thrown, 2);
    EXPECT_EQ(ran, 2);
}

TEST(AsioContext, RunInsideAHandlerThrows) {
    Context context;
    asio::post(context, [&] { EXPECT_THROW(context.run(), BlockingOperationException); });
    asio::post(plain(context), [&] { EXPECT_THROW(context.poll(), BlockingOperationException); });
    EXPECT_EQ(context.run(), 2u);
}

TEST(AsioContext, AFiberOfItsOwnCarrierMayRunIt) {
    Context context;
    asio::post(context, [] {});
    EXPECT_EQ(context.loop().carrier()->spawn([&] { return context.run(); }).join(), 1u);
}

TEST(AsioContext, RunOfTheIoContextThrowsAndNamesTheRightCall) {
    Context context;
    const asio::steady_timer timer(context);  // without an I/O object, Asio waits for no events
    auto guard = asio::make_work_guard(plain(context));
    EXPECT_THROW(plain(context).run(), std::logic_error);
    EXPECT_THROW(plain(context).poll(), std::logic_error);
    asio::post(context, [] {});
    guard.reset();
    EXPECT_EQ(context.run(), 1u) << "nothing is broken by it";
}

TEST(AsioContext, SeveralThreadsInRunReturnTogether) {
    Context context;
    auto guard = std::make_unique<asio::executor_work_guard<Context::executor_type>>(context.get_executor());
    std::atomic<std::size_t> counted{0};
    std::vector<std::thread> runners;
    for (int i = 0; i < 4; ++i) runners.emplace_back([&] { counted += context.run(); });
    for (int i = 0; i < 1000; ++i) asio::post(context, [] {});
    guard.reset();
    for (auto& runner : runners) runner.join();
    while (!context.stopped()) std::this_thread::yield();
    EXPECT_EQ(counted, 1000u);
}

TEST(AsioContext, OneLogLineSaysThatSeveralThreadsRunIt) {
    test::LogCapture log;
    Context context;
    auto guard = std::make_unique<asio::executor_work_guard<Context::executor_type>>(context.get_executor());
    std::vector<std::thread> runners;
    for (int i = 0; i < 4; ++i) runners.emplace_back([&] { context.run(); });
    EXPECT_TRUE(log.await("several threads run an asio_io::Context"));
    guard.reset();
    for (auto& runner : runners) runner.join();
    EXPECT_EQ(log.count("several threads run an asio_io::Context"), 1);
}

TEST(AsioContext, ASecondContextOnALoopIsRefused) {
    Context context;
    try {
        Context second(context.loop());
        FAIL();
    } catch (const std::logic_error& refused) {
        EXPECT_NE(std::string(refused.what()).find("already has a Context"), std::string::npos);
    }
}

TEST(AsioContext, OnAnEmbeddedLoopIsRefused) {
    ManualClock clock;
    EventLoop embedded(clock);
    try {
        Context context(embedded);
        FAIL();
    } catch (const std::logic_error& refused) {
        EXPECT_NE(std::string(refused.what()).find("embedded event loop"), std::string::npos);
    }
}

TEST(AsioContext, AnEchoOverItsSocketsByBothExecutors) {
    Context context;
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    tcp::socket served(plain(context)), client(context);
    std::string received(5, ' '), echoed(5, ' ');
    acceptor.async_accept(served, [&](auto error) {
        ASSERT_FALSE(error);
        asio::async_read(served, asio::buffer(received), [&](auto failed, std::size_t) {
            ASSERT_FALSE(failed);
            asio::async_write(served, asio::buffer(received), [](auto, std::size_t) {});
        });
    });
    client.async_connect(acceptor.local_endpoint(), [&](auto error) {
        ASSERT_FALSE(error);
        asio::async_write(client, asio::buffer("hello", 5), [&](auto, std::size_t) {
            asio::async_read(client, asio::buffer(echoed), [](auto, std::size_t) {});
        });
    });
    EXPECT_EQ(context.run(), 6u);
    EXPECT_EQ(echoed, "hello");
}

TEST(AsioContext, DestroyedWithOperationsPendingItDestroysTheirHandlers) {
    const auto witness = std::make_shared<int>(0);
    {
        Context context;
        tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
        asio::steady_timer timer(plain(context), 1h);
        acceptor.async_accept([witness](auto, tcp::socket) { FAIL(); });
        timer.async_wait([witness](auto) { FAIL(); });
        context.poll();
        asio::post(context, [witness] { FAIL(); });
        asio::post(plain(context), [witness] { FAIL(); });
        asio::post(context.get_executor(), asio::bind_executor(context.get_executor(), [witness] { FAIL(); }));
    }
    EXPECT_EQ(witness.use_count(), 1);
}

}  // namespace
}  // namespace weft::asio_io
