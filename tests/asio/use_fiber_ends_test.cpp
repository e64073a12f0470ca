// use_fiber: the reasons of cancellation that a fiber sees, and operations without an executor after the end of a loop.
#include <weft/asio_io/use_fiber.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gtest/gtest.h>

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

// An operation without an executor, of which nobody knows where it completes.
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
