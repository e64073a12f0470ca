// LoopExecutor satisfies Asio's executor requirements: its properties, where and in which order functions run, and what
// is built on it: strands, coroutines, type-erased executors.
#include <weft/asio_io/context.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/defer.hpp>
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
namespace execution = boost::asio::execution;

static_assert(execution::is_executor<LoopExecutor>::value);
static_assert(asio::is_executor<LoopExecutor>::value, "the interface of before Boost 1.74, as io_context's");
static_assert(asio::can_require<LoopExecutor, execution::blocking_t::never_t>::value);
static_assert(asio::can_require<LoopExecutor, execution::blocking_t::possibly_t>::value);
static_assert(!asio::can_require<LoopExecutor, execution::blocking_t::always_t>::value);
static_assert(asio::can_prefer<LoopExecutor, execution::outstanding_work_t::tracked_t>::value);
static_assert(asio::can_require<LoopExecutor, execution::outstanding_work_t::tracked_t>::value);
static_assert(asio::can_require<LoopExecutor, execution::relationship_t::continuation_t>::value);
static_assert(asio::can_require<LoopExecutor, execution::allocator_t<std::allocator<char>>>::value);
static_assert(asio::can_query<LoopExecutor, execution::context_t>::value);
static_assert(asio::can_query<LoopExecutor, execution::context_as_t<asio::execution_context&>>::value);
static_assert(asio::can_query<LoopExecutor, execution::mapping_t>::value);
static_assert(std::is_convertible_v<LoopExecutor, asio::any_io_executor>);
static_assert(std::is_convertible_v<LoopExecutor, asio::any_completion_executor>);
static_assert(std::is_nothrow_copy_constructible_v<LoopExecutor> && std::is_nothrow_move_constructible_v<LoopExecutor>);
static_assert(noexcept(std::declval<LoopExecutor>() == std::declval<LoopExecutor>()));
static_assert(sizeof(LoopExecutor) <= 16);

TEST(LoopExecutorTest, QueriesSayWhatWasRequired) {
    Context context;
    const LoopExecutor executor = context.get_executor();
    EXPECT_EQ(&asio::query(executor, execution::context), &context);
    EXPECT_EQ(asio::query(executor, execution::blocking), execution::blocking.possibly);
    EXPECT_EQ(asio::query(asio::require(executor, execution::blocking.never), execution::blocking),
              execution::blocking.never);
    EXPECT_EQ(asio::query(asio::prefer(executor, execution::relationship.continuation), execution::relationship),
              execution::relationship.continuation);
    EXPECT_EQ(asio::query(executor, execution::outstanding_work), execution::outstanding_work.untracked);
    EXPECT_EQ(asio::query(executor, execution::mapping), execution::mapping.thread);
}

TEST(LoopExecutorTest, EqualityIsOfContextAndProperties) {
    Context context, other;
    const LoopExecutor executor = context.get_executor();
    EXPECT_EQ(executor, context.get_executor());
    EXPECT_NE(executor, other.get_executor());
    EXPECT_NE(executor, asio::require(executor, execution::blocking.never));
    EXPECT_EQ(executor, asio::require(executor, execution::outstanding_work.tracked));
    EXPECT_EQ(asio::any_io_executor(executor), asio::any_io_executor(context.get_executor()));
    EXPECT_NE(asio::any_io_executor(executor).target<LoopExecutor>(), nullptr);
}

TEST(LoopExecutorTest, PostsRunInOrderAndDispatchRunsInsideTheDispatchOnly) {
    Context context;
    std::vector<int> order;
    const auto note = [&](int what) { return [&order, what] { order.push_back(what); }; };
    asio::dispatch(context, note(1));  // from outside: queued
    EXPECT_TRUE(order.empty());
    asio::post(context, [&] {
        asio::post(context, note(4));
        asio::defer(context, note(5));
        asio::dispatch(context, note(2));
        order.push_back(3);
    });
    EXPECT_EQ(context.run(), 4u);
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST(LoopExecutorTest, DispatchInAFiberQueuesTheHandler) {
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

TEST(LoopExecutorTest, DispatchInsideDispatchIsBoundedInDepth) {
    Context context;
    unsigned depth = 0, deepest = 0, left = 10'000;
    std::function<void()> again = [&] {
        if (left-- == 0) return;
        deepest = std::max(deepest, ++depth);
        asio::dispatch(context, again);
        --depth;
    };
    asio::post(context, again);
    context.run();
    EXPECT_EQ(left, ~0u);
    EXPECT_EQ(deepest, 17u) << "16 in the one that the loop has called";
}

TEST(LoopExecutorTest, RunThrowsTheExceptionOfADispatchedFunctionAndTheCallerDoesNot) {
    Context context;
    bool wentOn = false;
    asio::post(context, [&] {
        asio::dispatch(context, [] { throw std::runtime_error("dispatched"); });
        wentOn = true;
    });
    EXPECT_THROW(context.run(), std::runtime_error);
    EXPECT_TRUE(wentOn);
}

struct Arena {
    int taken = 0, returned = 0;
};

template <class T>
struct ArenaAllocator {
    using value_type = T;
    explicit ArenaAllocator(Arena& from) noexcept : arena(&from) {}
    template <class U>
    ArenaAllocator(const ArenaAllocator<U>& other) noexcept : arena(other.arena) {}
    T* allocate(std::size_t count) {
        ++arena->taken;
        return std::allocator<T>().allocate(count);
    }
    void deallocate(T* block, std::size_t count) noexcept {
        ++arena->returned;
        std::allocator<T>().deallocate(block, count);
    }
    template <class U>
    bool operator==(const ArenaAllocator<U>& other) const noexcept {
        return arena == other.arena;
    }
    Arena* arena;
};

TEST(LoopExecutorTest, AHandlersAllocatorIsUsedAndHasItsMemoryBackBeforeTheHandlerRuns) {
    Context context;
    Arena arena;
    asio::post(context, asio::bind_allocator(ArenaAllocator<int>(arena), [&] { EXPECT_EQ(arena.returned, 1); }));
    EXPECT_EQ(arena.taken, 1);
    EXPECT_EQ(context.run(), 1u);
    EXPECT_EQ(arena.returned, 1);
}

TEST(LoopExecutorTest, AStrandKeepsItsFunctionsInOrderAndApart) {
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

TEST(LoopExecutorTest, OlderProgramsUseItThroughBoostAsioExecutor) {
    Context context;
    const asio::executor executor = context.get_executor();
    EXPECT_EQ(&executor.context(), &context);
    EXPECT_EQ(executor, asio::executor(context.get_executor()));
    Arena arena;
    const ArenaAllocator<int> allocator(arena);
    std::vector<int> order;
    const auto note = [&](int what) { return [&order, what] { order.push_back(what); }; };
    context.get_executor().post(note(1), allocator);
    executor.post(
        [&] {
            EXPECT_EQ(arena.returned, 2) << "the memory of both is free";
            executor.post(note(4), allocator);
            executor.defer(note(5), allocator);
            executor.dispatch(note(2), allocator);
            asio::dispatch(asio::make_strand(executor), note(3));
        },
        allocator);
    EXPECT_TRUE(order.empty());
    EXPECT_EQ(context.run(), 4u);
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5}));
    EXPECT_EQ(arena.taken, arena.returned);
    context.restart();
    executor.on_work_started();
    EXPECT_EQ(context.poll(), 0u);
    EXPECT_FALSE(context.stopped());
    executor.on_work_finished();
    EXPECT_TRUE(context.stopped());
}

asio::awaitable<int> addSlowly(int a, int b) {
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    co_return a + b;
}

TEST(LoopExecutorTest, CoroutinesRunOnTheCarrier) {
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

TEST(LoopExecutorTest, NoThreadIsHiddenBehindASocketATimerASignalAStrandOrACoroutine) {
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
