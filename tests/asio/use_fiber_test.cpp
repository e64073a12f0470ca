// use_fiber: asynchronous operations that block a fiber: results, errors, cancellation, deadlines, the end of a
// context.
#include <weft/asio_io/use_fiber.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <gtest/gtest.h>

#include <weft/scheduler/this_fiber.hpp>

#include "asio/carrying.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using test::Carrying;
using test::spawnWaiting;
using namespace std::chrono_literals;

TEST(UseFiber, ReturnsWhatTheOperationCompletesWith) {
    Carrying carrying;
    carrying.inFiber([&] {
        tcp::acceptor acceptor(carrying.context(), {asio::ip::address_v4::loopback(), 0});
        tcp::socket client(carrying.context());
        auto connecting =
            Carrier::current()->spawn([&] { client.async_connect(acceptor.local_endpoint(), use_fiber); });
        tcp::socket served = acceptor.async_accept(use_fiber);
        connecting.join();
        EXPECT_EQ(asio::async_write(client, asio::buffer("hello", 5), use_fiber), 5u);
        std::array<char, 5> bytes;
        EXPECT_EQ(asio::async_read(served, asio::buffer(bytes), use_fiber), 5u);
        EXPECT_EQ(std::string(bytes.data(), 5), "hello");
        client.close();
        EXPECT_THROW(asio::async_read(served, asio::buffer(bytes), use_fiber), SystemError);
        ErrorCode error;
        EXPECT_EQ(served.async_read_some(asio::buffer(bytes), use_fiber[error]), 0u);
        EXPECT_EQ(error, asio::error::eof);
    });
}

TEST(UseFiber, ItsFiberWaitsAndTheOthersRun) {
    Carrying carrying;
    int others = 0;
    carrying.inFiber([&] {
        asio::steady_timer timer(carrying.context(), 5ms);
        auto other = Carrier::current()->spawn([&] { ++others; });
        timer.async_wait(use_fiber);
        EXPECT_EQ(others, 1);
        other.join();
    });
}

TEST(UseFiber, ComposesWithAsiosTokenAdapters) {
    Carrying carrying;
    carrying.inFiber([&] {
        asio::steady_timer timer(carrying.context(), 1ms);
        const auto [error] = timer.async_wait(asio::as_tuple(use_fiber));
        EXPECT_FALSE(error);
        ErrorCode redirected = asio::error::eof;
        timer.async_wait(asio::redirect_error(use_fiber, redirected));
        EXPECT_FALSE(redirected);
        timer.expires_after(1ms);
        auto later = timer.async_wait(asio::deferred);
        std::move(later)(use_fiber);
        using Timer = use_fiber_t::as_default_on_t<asio::steady_timer>;
        Timer defaulted(carrying.context(), 1ms);
        defaulted.async_wait();
    });
}

TEST(UseFiber, AwaitsACoroutineAndAChannelAndAPost) {
    Carrying carrying;
    carrying.inFiber([&] {
        const int sum = asio::co_spawn(
            carrying.context(),
            [&]() -> asio::awaitable<int> {
                asio::steady_timer timer(carrying.context(), 1ms);
                co_await timer.async_wait(asio::use_awaitable);
                co_return 3;
            },
            use_fiber);
        EXPECT_EQ(sum, 3);
        EXPECT_THROW(asio::co_spawn(
                         carrying.context(),
                         []() -> asio::awaitable<void> {
                             throw std::runtime_error("thrown");
                             co_return;
                         },
                         use_fiber),
                     std::runtime_error);
        asio::experimental::channel<void(ErrorCode, std::string)> channel(carrying.context(), 1);
        auto sending = Carrier::current()->spawn([&] { channel.async_send(ErrorCode(), "sent", use_fiber); });
        EXPECT_EQ(channel.async_receive(use_fiber), "sent");
        sending.join();
        asio::post(carrying.context(), use_fiber);
    });
}

TEST(UseFiber, BlocksAPlainThreadToo) {
    Carrying carrying;
    asio::steady_timer timer(carrying.context(), 1ms);
    timer.async_wait(use_fiber);
    asio::io_context foreign;
    asio::steady_timer other(foreign, 1ms);
    std::thread runner;
    {
        auto guard = asio::make_work_guard(foreign);
        runner = std::thread([&] { foreign.run(); });
        other.async_wait(use_fiber);
        carrying.inFiber([&] {
            other.expires_after(1ms);
            other.async_wait(use_fiber);
            other.expires_after(1h);
            EXPECT_THROW(other.async_wait(use_fiber.within(1ms)), SystemError);
        });
    }
    runner.join();
}

TEST(UseFiber, ADeadlineCancelsTheOperationAndTheErrorIsTimedOut) {
    Carrying carrying;
    carrying.inFiber([&] {
        asio::steady_timer timer(carrying.context(), 1h);
        ErrorCode error;
        timer.async_wait(use_fiber[error].within(2ms));
        EXPECT_EQ(error, timedOut());
        timer.expires_after(1ms);
        timer.async_wait(use_fiber[error].within(1h));
        EXPECT_FALSE(error);
        timer.expires_after(1h);
        timer.async_wait(use_fiber[error].until(TimePoint::min()));
        EXPECT_EQ(error, timedOut());
    });
}

TEST(UseFiber, ACancelledFiberCancelsItsOperation) {
    Carrying carrying;
    ErrorCode error;
    auto fiber = carrying.waiting([&] {
        asio::steady_timer timer(carrying.context(), 1h);
        timer.async_wait(use_fiber[error]);
    });
    fiber.cancel();
    fiber.join();
    EXPECT_EQ(error, operationAborted());
}

TEST(UseFiber, TheEndOfTheGroupCancelsWhatFibersWaitFor) {
    ErrorCode error;
    auto carrying = std::make_unique<Carrying>();
    auto fiber = carrying->waiting([&] {
        asio::steady_timer timer(carrying->context(), 1h);
        timer.async_wait(use_fiber[error]);
        ErrorCode next;
        timer.async_wait(use_fiber[next]);
        EXPECT_EQ(next, operationAborted());
        EXPECT_THROW(timer.async_wait(use_fiber), SystemError);
    });
    EXPECT_TRUE(carrying->group.shutdown(std::chrono::seconds(20)));
    EXPECT_EQ(error, operationAborted());
    fiber.join();
    carrying.reset();
}

TEST(UseFiber, TheEndOfTheLoopsOfBorrowedCarriersCancelsWhatFibersWaitFor) {
    CarrierOptions options;
    options.name = "test";
    options.carriers = 1;
    CarrierGroup carriers(options);
    auto group = std::make_unique<EventLoopGroup>(carriers, std::nullopt, EventLoop::Options(), AsioIoHandler::wrap);
    ContextGroup contexts(*group);
    ErrorCode error;
    auto fiber = spawnWaiting(carriers.carrier(0), [&] {
        asio::steady_timer timer(contexts.context(0), 1h);
        timer.async_wait(use_fiber[error]);
    });
    group.reset();
    fiber.join();
    EXPECT_EQ(error, operationAborted());
}

// Starts a wait for `timer`, after it has called `starts`.
struct LateStart {
    using executor_type = LoopExecutor;
    executor_type get_executor() const noexcept { return executor; }
    template <class Handler>
    void operator()(Handler handler) const {
        starts();
        timer.async_wait(std::move(handler));
    }
    LoopExecutor executor;
    asio::steady_timer& timer;
    std::function<void()> starts;
};

TEST(UseFiber, AnOperationThatAThreadStartsWhileItsLoopEndsIsCancelled) {
    Carrying carrying;
    asio::steady_timer early(carrying.context(), 1h), late(carrying.context(), 1h);
    std::atomic<int> begun{0};
    std::atomic<bool> cancelled{false};
    ErrorCode error;
    std::thread first([&] {
        ++begun;
        ErrorCode aborted;
        early.async_wait(use_fiber[aborted]);
        cancelled = true;  // by the end of the loop, which has cancelled all others, too
    });
    std::thread second([&] {
        const auto starts = [&] {
            ++begun;
            while (!cancelled) std::this_thread::yield();
        };
        asio::async_initiate<const use_fiber_t, void(ErrorCode)>(
            LateStart{carrying.context().get_executor(), late, starts}, use_fiber[error]);
    });
    while (begun < 2) std::this_thread::yield();
    EXPECT_TRUE(carrying.group.shutdown(20s));
    first.join();
    second.join();
    EXPECT_EQ(error, operationAborted());
}

TEST(UseFiber, AContextThatIsDestroyedEndsTheWaitsForIt) {
    ErrorCode error;
    auto context = std::make_unique<Context>();
    auto timer = std::make_unique<asio::steady_timer>(*context, 1h);
    CarrierOptions options;
    options.name = "other";
    options.carriers = 1;
    CarrierGroup others(options);
    auto fiber = spawnWaiting(others.carrier(0), [&] { timer->async_wait(use_fiber[error]); });
    // The timer must be destroyed before its context; that aborts its handler.
    timer.reset();
    context->poll();
    context.reset();
    fiber.join();
    EXPECT_EQ(error, operationAborted());
}

// Its fiber resumes after the whole context has been destroyed.
TEST(UseFiber, AWaitThatEndsAfterItsContextIsGoneTouchesNothingOfIt) {
    ErrorCode error;
    auto context = std::make_unique<Context>();
    auto timer = std::make_unique<asio::steady_timer>(*context, 1h);
    CarrierOptions options;
    options.name = "other";
    options.carriers = 1;
    CarrierGroup others(options);
    std::atomic<bool> held{false};
    std::atomic<bool> gone{false};
    auto fiber = spawnWaiting(others.carrier(0), [&] { timer->async_wait(use_fiber[error]); });
    auto holder = others.carrier(0).spawn([&] {
        held = true;
        while (!gone) std::this_thread::yield();
    });
    while (!held) std::this_thread::yield();
    timer.reset();
    context->poll();
    context.reset();
    gone = true;
    holder.join();
    fiber.join();
    EXPECT_EQ(error, operationAborted());
}

// Asio's thread-local state is in the fiber's stack frame meanwhile.
TEST(UseFiber, AnOperationThatWaitsWhileItIsStartedIsRefused) {
    Context context;
    bool refused = false;
    int steps = 0;
    asio::post(FiberExecutor(context), [&] {
        asio::steady_timer timer(context);
        const auto waits = [&](auto& self, boost::system::error_code error = {}) {
            ++steps;
            thisFiber::sleepFor(std::chrono::milliseconds(1));
            self.complete(error);
        };
        try {
            asio::async_compose<const use_fiber_t, void(boost::system::error_code)>(waits, use_fiber, timer);
        } catch (const BlockingOperationException&) {
            refused = true;
        }
        timer.expires_after(std::chrono::milliseconds(1));
        timer.async_wait(use_fiber);
    });
    context.run();
    EXPECT_TRUE(refused);
    EXPECT_EQ(steps, 1);
}

TEST(UseFiber, InsideAHandlerItThrowsBeforeTheOperationBegins) {
    Context context;
    asio::steady_timer timer(context, 1h);
    asio::post(context, [&] { EXPECT_THROW(timer.async_wait(use_fiber), BlockingOperationException); });
    EXPECT_EQ(context.run(), 1u) << "nothing is outstanding";
}

}  // namespace
}  // namespace weft::asio_io
