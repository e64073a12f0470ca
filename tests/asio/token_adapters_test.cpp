// use_fiber inside the adapters of Asio's completion tokens, and with operations other than those of sockets and
// timers; the kinds of cancellation.
#include <weft/asio_io/context.hpp>
#include <weft/asio_io/use_fiber.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <unistd.h>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>

#include <gtest/gtest.h>

#include <weft/asio_io/fiber_executor.hpp>
#include "support/sanitized.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using namespace std::chrono_literals;

// Runs `fn` in a fiber of the context, and the context until the fiber has ended.
template <class F>
void runFiber(Context& context, F fn) {
    asio::post(FiberExecutor(context), std::move(fn));
    context.run();
}

// Counts allocations and deallocations.
template <class T>
struct CountingAllocator {
    using value_type = T;
    explicit CountingAllocator(long& its) : held(&its) {}
    template <class U>
    CountingAllocator(const CountingAllocator<U>& other) : held(other.held) {}
    T* allocate(std::size_t count) {
        ++*held;
        return std::allocator<T>().allocate(count);
    }
    void deallocate(T* block, std::size_t count) {
        --*held;
        std::allocator<T>().deallocate(block, count);
    }
    template <class U>
    bool operator==(const CountingAllocator<U>& other) const {
        return held == other.held;
    }
    long* held;
};

// Counts the functions that it passes on.
template <class Inner>
struct CountingExecutor {
    template <class F>
    void execute(F&& function) const {
        ++*count;
        inner.execute(std::forward<F>(function));
    }
    bool operator==(const CountingExecutor&) const noexcept = default;
    Inner inner;
    int* count;
};

// Returns how many functions the executor has run.
template <class Executor>
int completionsThrough(Context& context, const Executor& executor) {
    int count = 0;
    runFiber(context, [&] {
        asio::steady_timer timer(context, 1ms);
        timer.async_wait(asio::bind_executor(CountingExecutor<Executor>{executor, &count}, use_fiber));
    });
    context.restart();
    return count;
}

TEST(TokenAdapters, ABoundExecutorRunsTheCompletion) {
    Context context;
    EXPECT_EQ(completionsThrough(context, context.get_executor()), 1);
    EXPECT_EQ(completionsThrough(context, asio::make_strand(context)), 1);
    EXPECT_EQ(completionsThrough(context, FiberExecutor(context)), 1);
}

TEST(TokenAdapters, ABoundAllocatorHasItsMemoryBack) {
    Context context;
    long held = 0;
    runFiber(context, [&] {
        asio::steady_timer timer(context, 1ms);
        timer.async_wait(asio::bind_allocator(CountingAllocator<char>(held), use_fiber));
    });
    EXPECT_EQ(held, 0);
}

// The owner of the slot then cancels the operation.
TEST(TokenAdapters, ABoundCancellationSlotCancels) {
    Context context;
    asio::cancellation_signal signal;
    runFiber(context, [&] {
        asio::steady_timer timer(context, 1h);
        asio::post(context, [&] { signal.emit(asio::cancellation_type::terminal); });
        ErrorCode error;
        timer.async_wait(asio::bind_cancellation_slot(signal.slot(), use_fiber[error]));
        EXPECT_EQ(error, asio::error::operation_aborted);
    });
}

TEST(TokenAdapters, AParallelGroupCompletesWithAllThatItsOperationsDid) {
    Context context;
    runFiber(context, [&] {
        asio::steady_timer soon(context, 1ms);
        asio::steady_timer late(context, 1h);
        const auto [order, first, second] =
            asio::experimental::make_parallel_group(late.async_wait(asio::deferred), soon.async_wait(asio::deferred))
                .async_wait(asio::experimental::wait_for_one(), use_fiber);
        EXPECT_EQ(order[0], 1u);
        EXPECT_EQ(first, asio::error::operation_aborted);
        EXPECT_FALSE(second);
    });
}

#ifndef WEFT_SANITIZED_THREAD  // which knows Weft's fibers, and not those that Asio makes
TEST(TokenAdapters, AStackfulCoroutineOfAsioIsAwaited) {
    Context context;
    runFiber(context, [&] {
        const int result = asio::spawn(
            context,
            [&](const asio::yield_context& yield) {
                asio::steady_timer timer(context, 1ms);
                timer.async_wait(yield);
                return 3;
            },
            use_fiber);
        EXPECT_EQ(result, 3);
        EXPECT_THROW(asio::spawn(
                         context, [](const asio::yield_context&) { throw std::runtime_error("thrown"); }, use_fiber),
                     std::runtime_error);
    });
}
#endif

TEST(TokenAdapters, ASignalIsAwaited) {
    Context context;
    runFiber(context, [&] {
        asio::signal_set signals(context, SIGUSR2);
        asio::post(context, [] { ::kill(::getpid(), SIGUSR2); });
        EXPECT_EQ(signals.async_wait(use_fiber), SIGUSR2);
    });
}

// ---- kinds of cancellation ----

struct Outcome {
    ErrorCode error;
    std::size_t bytes = 0;
    bool operator==(const Outcome&) const = default;
};

// Starts an operation, lets it wait, cancels it with `type`, and stops the context by a timer that begins then, after
// the turn in which its completion would have been called.
template <class TheContext, class Start>
std::optional<Outcome> cancelled(TheContext& toRun, asio::cancellation_type type, Start start) {
    asio::io_context& context = toRun;
    std::optional<Outcome> outcome;
    asio::cancellation_signal signal;
    start(asio::bind_cancellation_slot(signal.slot(), [&](ErrorCode error, std::size_t bytes = 0) {
        outcome = Outcome{error, bytes};
    }));
    asio::steady_timer waited(context, 30ms);  // long enough for the reactor to run, even on a busy machine
    waited.async_wait([&](auto) {
        signal.emit(type);
        waited.expires_after(1ms);
        waited.async_wait([&](auto) { context.stop(); });
    });
    toRun.run();
    return outcome;
}

template <class TheContext>
std::optional<Outcome> cancelledTimer(TheContext& context, asio::cancellation_type type) {
    asio::steady_timer timer(context, 1h);
    return cancelled(context, type, [&](auto handler) { timer.async_wait(std::move(handler)); });
}

template <class TheContext>
std::optional<Outcome> cancelledRead(TheContext& context, asio::cancellation_type type) {
    stream_protocol::socket socket(context), peer(context);
    asio::local::connect_pair(socket, peer);
    char byte = 0;
    return cancelled(context, type,
                     [&](auto handler) { socket.async_read_some(asio::buffer(&byte, 1), std::move(handler)); });
}

// The read has a part of its bytes.
template <class TheContext>
std::optional<Outcome> cancelledReadOfMany(TheContext& context, asio::cancellation_type type) {
    stream_protocol::socket socket(context), peer(context);
    asio::local::connect_pair(socket, peer);
    asio::write(peer, asio::buffer("abc", 3));
    std::string bytes(10, ' ');
    return cancelled(context, type,
                     [&](auto handler) { asio::async_read(socket, asio::buffer(bytes), std::move(handler)); });
}

class KindsOfCancellation : public testing::TestWithParam<asio::cancellation_type> {};

TEST_P(KindsOfCancellation, BehaveAsOnAnIoContext) {
    const auto onBoth = [](auto operation) {
        asio::io_context plain;
        Context context;
        const std::optional<Outcome> expected = operation(plain);
        const std::optional<Outcome> actual = operation(context);
        EXPECT_TRUE(actual == expected) << (actual ? actual->error.message() : "not cancelled");
        return actual.has_value();
    };
    EXPECT_TRUE(onBoth([](auto& context) { return cancelledTimer(context, GetParam()); }));
    EXPECT_TRUE(onBoth([](auto& context) { return cancelledRead(context, GetParam()); }));
    const bool ended = onBoth([](auto& context) { return cancelledReadOfMany(context, GetParam()); });
    EXPECT_EQ(ended, GetParam() != asio::cancellation_type::total) << "a part has been read";
}

INSTANTIATE_TEST_SUITE_P(Each, KindsOfCancellation,
                         testing::Values(asio::cancellation_type::terminal, asio::cancellation_type::partial,
                                         asio::cancellation_type::total));

}  // namespace
}  // namespace weft::asio_io
