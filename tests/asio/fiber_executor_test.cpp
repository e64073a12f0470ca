// FiberExecutor: functions, handlers and coroutines that may block.
#include <weft/asio_io/fiber_executor.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <weft/scheduler/future.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
namespace execution = boost::asio::execution;
using namespace std::chrono_literals;

static_assert(execution::is_executor<FiberExecutor>::value);
static_assert(asio::can_require<FiberExecutor, execution::blocking_t::never_t>::value);
static_assert(!asio::can_require<FiberExecutor, execution::blocking_t::possibly_t>::value);
static_assert(std::is_convertible_v<FiberExecutor, asio::any_io_executor>);
static_assert(std::is_convertible_v<FiberExecutor, asio::any_completion_executor>);
static_assert(sizeof(FiberExecutor) <= 16);

TEST(FiberExecutorTest, AFunctionMayBlockAndTheOthersRunMeanwhile) {
    Context context;
    const FiberExecutor executor(context);
    Promise<int> answer;
    const Future<int> later = answer.future();
    std::vector<int> order;
    asio::post(executor, [&] {
        EXPECT_EQ(Carrier::current(), context.loop().carrier());
        order.push_back(later.get());
    });
    asio::post(executor, [&] {
        order.push_back(1);
        answer.setValue(2);
    });
    context.run();
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(FiberExecutorTest, NothingRunsBeforeRunAndRunWaitsForAFiberThatSleeps) {
    Context context;
    bool ended = false;
    asio::dispatch(FiberExecutor(context), [&] {
        thisFiber::sleepFor(2ms);
        ended = true;
    });
    EXPECT_FALSE(ended);
    EXPECT_EQ(context.run(), 1u);
    EXPECT_TRUE(ended);
    EXPECT_TRUE(context.stopped());
}

TEST(FiberExecutorTest, WhatAFunctionThrowsIsThrownByRun) {
    Context context;
    asio::post(FiberExecutor(context), [] {
        thisFiber::yield();
        throw std::runtime_error("in a fiber");
    });
    EXPECT_THROW(context.run(), std::runtime_error);
}

TEST(FiberExecutorTest, EqualityAndContextAreAsForTheLoopExecutor) {
    Context context, other;
    const FiberExecutor executor(context);
    EXPECT_EQ(executor, FiberExecutor(context));
    EXPECT_NE(executor, FiberExecutor(other));
    EXPECT_EQ(executor, asio::prefer(executor, execution::outstanding_work.tracked));
    EXPECT_EQ(&asio::query(executor, execution::context), &context);
    EXPECT_EQ(asio::any_io_executor(executor), asio::any_io_executor(FiberExecutor(context)));
    EXPECT_NE(asio::any_io_executor(executor), asio::any_io_executor(context.get_executor()));
}

TEST(FiberExecutorTest, ALargeFunctionIsBoxed) {
    Context context;
    std::array<char, 100'000> large{};
    large[99'999] = 'x';
    char seen = 0;
    asio::post(FiberExecutor(context), [large, &seen] { seen = large[99'999]; });
    context.run();
    EXPECT_EQ(seen, 'x');
}

// For functions that do not block; functions that block need FiberStrand.
TEST(FiberExecutorTest, AStrandOfAsioKeepsItsFunctionsInOrderAndApart) {
    Context context;
    const auto strand = asio::make_strand(FiberExecutor(context));
    std::vector<int> order;
    for (int i = 0; i < 100; ++i) {
        asio::post(strand, [&, i] {
            EXPECT_TRUE(strand.running_in_this_thread());
            order.push_back(i);
        });
    }
    context.run();
    ASSERT_EQ(order.size(), 100u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(FiberExecutorTest, HandlersOfASocketMayBlock) {
    Context context;
    const FiberExecutor executor(context);
    asio::ip::tcp::acceptor acceptor(executor, {asio::ip::address_v4::loopback(), 0});
    asio::ip::tcp::socket client(executor);
    bool accepted = false, connected = false;
    acceptor.async_accept([&](auto error, auto) {
        EXPECT_FALSE(error);
        thisFiber::sleepFor(1ms);
        accepted = true;
    });
    client.async_connect(acceptor.local_endpoint(), [&](auto error) {
        EXPECT_FALSE(error);
        thisFiber::sleepFor(1ms);
        connected = true;
    });
    context.run();
    EXPECT_TRUE(accepted && connected);
}

TEST(FiberExecutorTest, ACoroutineMayBlockBetweenItsAwaits) {
    Context context;
    int steps = 0;
    asio::co_spawn(
        FiberExecutor(context),
        [&]() -> asio::awaitable<void> {
            thisFiber::sleepFor(1ms);
            ++steps;
            asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
            co_await timer.async_wait(asio::use_awaitable);
            thisFiber::sleepFor(1ms);
            ++steps;
        },
        asio::detached);
    context.run();
    EXPECT_EQ(steps, 2);
}

TEST(FiberExecutorTest, TheContextsEndEndsTheWaitsOfItsFunctions) {
    const auto witness = std::make_shared<int>(0);
    bool aborted = false;
    {
        Context context;
        asio::post(FiberExecutor(context), [&, witness] {
            context.stop();
            try {
                thisFiber::sleepFor(1h);
            } catch (const SystemError& error) {
                aborted = error.code() == operationAborted();
                throw;
            }
        });
        asio::post(FiberExecutor(context), [witness] { thisFiber::sleepFor(1h); });
        context.run();
        asio::post(FiberExecutor(context), [witness] { FAIL() << "nobody runs the context"; });
    }
    EXPECT_TRUE(aborted);
    EXPECT_EQ(witness.use_count(), 1);
}

}  // namespace
}  // namespace weft::asio_io
