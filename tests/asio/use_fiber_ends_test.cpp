// use_fiber: the reasons of cancellation that a fiber sees, and operations without an executor after the end of a loop.
#include <weft/asio_io/use_fiber.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <weft/asio_io/fiber_executor.hpp>

#include "asio/carrying.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using test::Carrying;
using namespace std::chrono_literals;

TEST(UseFiberEnds, TheReasonOfACancellationIsReportedForChannelsAndCoroutinesToo) {
    Carrying carrying;
    asio::experimental::channel<void(ErrorCode)> channel(carrying.context());
    const auto receive = [&](auto token) { channel.async_receive(token); };
    const auto coroutine = [&](auto token) {
        asio::co_spawn(
            carrying.context(), [&]() -> asio::awaitable<void> { co_await channel.async_receive(asio::use_awaitable); },
            token);
    };
    const auto errorOf = [](const auto& operation, auto token) {
        try {
            operation(token);
        } catch (const SystemError& error) {
            return error.code();
        }
        return ErrorCode();
    };
    carrying.inFiber([&] {
        EXPECT_EQ(errorOf(receive, use_fiber.within(2ms)), timedOut());
        EXPECT_EQ(errorOf(coroutine, use_fiber.within(2ms)), timedOut());
    });
    std::array<ErrorCode, 2> errors;
    auto first = carrying.waiting([&] { errors[0] = errorOf(receive, use_fiber); });
    auto second = carrying.waiting([&] { errors[1] = errorOf(coroutine, use_fiber); });
    first.cancel();
    second.cancel();
    first.join();
    second.join();
    EXPECT_EQ(errors[0], operationAborted());
    EXPECT_EQ(errors[1], operationAborted());
    auto own = carrying.waiting([&] { errors[0] = errorOf(receive, use_fiber.within(1h)); });
    carrying.inFiber([&] { channel.cancel(); });
    own.join();
    EXPECT_EQ(errors[0], asio::experimental::error::channel_cancelled) << "by its user";
}

// As a handler is destroyed and not called: what the fiber would do next may use objects that are gone.
TEST(UseFiberEnds, AtTheEndOfItsContextItThrowsInAFiberThatStoresErrors) {
    std::atomic<int> waits{0};
    int goesOn = 0;
    {
        Context context;
        auto lines = std::make_unique<std::vector<int>>(3, 1);
        for (int i = 0; i < 3; ++i) {
            asio::post(FiberExecutor(context), [&, i] {
                asio::steady_timer timer(context, 1h);
                ErrorCode error;
                ++waits;
                i == 0 ? timer.async_wait(use_fiber[error]) : timer.async_wait(use_fiber[error].within(1h));
                ++goesOn;
                lines->clear();  // destroyed by then
            });
        }
        while (waits < 3) context.run_for(1ms);
        lines.reset();
    }
    EXPECT_EQ(waits, 3);
    EXPECT_EQ(goesOn, 0);
}

// As in a destructor that says goodbye.
TEST(UseFiberEnds, WhatIsStartedAfterTheEndOfItsContextStoresTheError) {
    struct SaysGoodbye {
        ~SaysGoodbye() { asio::steady_timer(context, 1h).async_wait(use_fiber[error]); }
        Context& context;
        ErrorCode& error;
    };
    ErrorCode error;
    std::atomic<bool> waits{false};
    {
        Context context;
        asio::post(FiberExecutor(context), [&] {
            const SaysGoodbye last{context, error};
            waits = true;
            asio::steady_timer(context, 1h).async_wait(use_fiber);
        });
        while (!waits) context.run_for(1ms);
    }
    EXPECT_EQ(error, operationAborted());
}

// An operation without an executor: the context that completes it is unknown.
ErrorCode waitsFor(asio::steady_timer& timer) {
    ErrorCode error;
    asio::async_initiate<const use_fiber_t, void(ErrorCode)>(
        [&](auto handler) { timer.async_wait(std::move(handler)); }, use_fiber[error]);
    return error;
}

TEST(UseFiberEnds, AfterTheEndOfAContextABorrowedCarrierWaitsForOtherContexts) {
    CarrierOptions options;
    options.name = "test";
    options.carriers = 1;
    CarrierGroup carriers(options);
    auto group = std::make_unique<EventLoopGroup>(carriers, std::nullopt, EventLoop::Options(), AsioIoHandler::wrap);
    auto contexts = std::make_unique<ContextGroup>(*group);
    auto timer = std::make_unique<asio::steady_timer>(contexts->context(0), 1h);
    group.reset();
    carriers.carrier(0).spawn([&] { EXPECT_EQ(waitsFor(*timer), operationAborted()); }).join();
    timer.reset();
    contexts.reset();
    asio::io_context other;
    asio::steady_timer otherTimer(other, 1ms);
    auto fiber = carriers.carrier(0).spawn([&] { EXPECT_EQ(waitsFor(otherTimer), ErrorCode()); });
    const auto work = asio::make_work_guard(other);
    std::thread runs([&] { other.run(); });
    fiber.join();
    other.stop();
    runs.join();
}

}  // namespace
}  // namespace weft::asio_io
