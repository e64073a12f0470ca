// A Context's executor is io_context's: where its functions run, and what is built on it: strands, coroutines,
// type-erased executors.
#include <weft/asio_io/context.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/thread_count.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;

static_assert(std::is_same_v<LoopExecutor, asio::io_context::executor_type>);
static_assert(std::is_same_v<Context::executor_type, LoopExecutor>);

TEST(ContextExecutorTest, DispatchInAFiberQueuesTheHandler) {
    Context context;
    auto guard = asio::make_work_guard(context.get_executor());
    std::thread runner([&] { context.run(); });
    context.loop()
        .carrier()
        ->spawn([&] {
            bool ran = false;
            asio::dispatch(context, [&] { ran = true; });
            EXPECT_FALSE(ran) << "it would run on the stack of a fiber, which may park";
            while (!ran) thisFiber::yield();
        })
        .join();
    guard.reset();
    runner.join();
}

TEST(ContextExecutorTest, RunThrowsTheExceptionOfADispatchedFunctionAndTheCallerDoesNot) {
    Context context;
    bool wentOn = false;
    asio::post(context, [&] {
        asio::dispatch(context, [] { throw std::runtime_error("dispatched"); });
        wentOn = true;
    });
    EXPECT_THROW(context.run(), std::runtime_error);
    EXPECT_TRUE(wentOn);
}

TEST(ContextExecutorTest, AStrandKeepsItsFunctionsInOrderAndApart) {
    Context context;
    auto strand = asio::make_strand(context);
    std::vector<int> order;
    bool inside = false;
    for (int i = 0; i < 100; ++i) {
        asio::post(strand, [&, i] {
            EXPECT_TRUE(strand.running_in_this_thread());
            EXPECT_FALSE(std::exchange(inside, true));
            order.push_back(i);
            asio::dispatch(strand, [] {});
            inside = false;
        });
    }
    context.run();
    EXPECT_EQ(order.size(), 100u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(ContextExecutorTest, OlderProgramsUseItThroughBoostAsioExecutor) {
    Context context;
    const asio::executor executor = context.get_executor();
    EXPECT_EQ(&executor.context(), &context);
    int ran = 0;
    asio::post(executor, [&] { ++ran; });
    EXPECT_EQ(context.run(), 1u);
    EXPECT_EQ(ran, 1);
}

asio::awaitable<int> addSlowly(int a, int b) {
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    co_return a + b;
}

TEST(ContextExecutorTest, CoroutinesRunOnTheCarrier) {
    Context context;
    int sum = 0;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            EXPECT_EQ(Carrier::current(), context.loop().carrier());
            sum = co_await addSlowly(1, 2);
            EXPECT_EQ(Carrier::current(), context.loop().carrier());
        },
        asio::detached);
    context.run();
    EXPECT_EQ(sum, 3);
}

TEST(ContextExecutorTest, NoThreadIsHiddenBehindASocketATimerASignalAStrandOrACoroutine) {
    Context context;
    const std::size_t before = test::threadCount();
    asio::ip::tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    asio::ip::tcp::socket socket(context.get_executor());
    asio::steady_timer timer(context, std::chrono::milliseconds(1));
    asio::signal_set signals(context, SIGUSR2);
    auto strand = asio::make_strand(context);
    acceptor.async_accept([](auto, asio::ip::tcp::socket) {});
    timer.async_wait(asio::bind_executor(strand, [&](auto) {
        acceptor.close();
        signals.cancel();
    }));
    signals.async_wait([](auto, int) {});
    asio::co_spawn(context, addSlowly(1, 2), [](auto, int) {});
    context.run();
    EXPECT_EQ(test::threadCount(), before);
}

}  // namespace
}  // namespace weft::asio_io
