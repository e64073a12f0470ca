// The end of a Context and of calls of run(): destruction with handlers still queued, cancellation, stop and restart,
// the end of the loop, fork.
#include <weft/asio_io/context.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <gtest/gtest.h>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context_group.hpp>
#include <weft/asio_io/use_fiber.hpp>
#include <weft/framework/event_loop_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/log_capture.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

EventLoopGroupOptions withAsio(unsigned carriers = 1) {
    EventLoopGroupOptions options;
    options.name = "test";
    options.carriers = carriers;
    options.ioHandler = AsioIoHandler::wrap;
    return options;
}

asio::io_context& plain(Context& context) {
    return context;
}

TEST(AsioContextEnds, DestroyedInAFiberOfItsCarrierItDestroysQueuedFunctions) {
    EventLoopGroup group(withAsio());
    const auto witness = std::make_shared<int>(0);
    group.carriers()
        .carrier(0)
        .spawn([&] {
            Context context(group.loop(0));
            asio::post(context, [witness] { FAIL(); });
        })
        .join();
    EXPECT_EQ(witness.use_count(), 1);
}

// A chain of posts never ends by itself; the destructor destroys whatever is queued.
TEST(AsioContextEnds, ContextsWhoseHandlersPostToEachOtherCanBeDestroyed) {
    for (int round = 0; round < 20; ++round) {
        EventLoopGroup group(withAsio(2));
        const auto witness = std::make_shared<int>(0);
        std::function<void(int, std::shared_ptr<int>)> post;
        {
            ContextGroup contexts(group);
            post = [&](int to, std::shared_ptr<int> kept) {
                asio::post(contexts.context(static_cast<std::size_t>(to)).get_executor(),
                           [&post, to, kept] { post(1 - to, kept); });
            };
            for (int i = 0; i < 8; ++i) post(i % 2, witness);
            std::this_thread::yield();
        }
        EXPECT_EQ(witness.use_count(), 1);
    }
}

struct PostsWhenDestroyed {
    explicit PostsWhenDestroyed(Context& its) : context(&its) {}
    PostsWhenDestroyed(PostsWhenDestroyed&& other) noexcept : context(std::exchange(other.context, nullptr)) {}
    ~PostsWhenDestroyed() {
        if (context != nullptr) asio::post(*context, [] { FAIL(); });
    }
    void operator()() { FAIL(); }
    Context* context;
};

TEST(AsioContextEnds, FunctionsSubmittedByDestructorsOfFunctionsAreDestroyed) {
    Context context;
    asio::post(context, PostsWhenDestroyed(context));
    asio::post(plain(context), PostsWhenDestroyed(context));
}

TEST(AsioContextEnds, ACancelledFiberLeavesRunWhenNoHandlerRunsForIt) {
    EventLoopGroup group(withAsio());
    CarrierOptions options;
    options.name = "caller";
    options.carriers = 1;
    CarrierGroup callers(options);
    Context context(group.loop(0));
    auto guard = asio::make_work_guard(context.get_executor());
    std::atomic<bool> inside{false}, cancelled{false}, left{false};
    asio::post(context, [&] {
        inside = true;
        while (!cancelled) std::this_thread::yield();
        for (int i = 0; i < 1000; ++i) std::this_thread::yield();
        EXPECT_FALSE(left) << "its locals would be gone";
    });
    auto fiber = callers.carrier(0).spawn([&] {
        EXPECT_THROW(context.run(), SystemError);
        left = true;
    });
    while (!inside) std::this_thread::yield();
    fiber.cancel();
    cancelled = true;
    fiber.join();
    EXPECT_FALSE(context.stopped());
}

TEST(AsioContextEnds, RunOneLeavesAStateThatRestartMayChangeAtOnce) {
    Context context;
    for (int i = 0; i < 2000; ++i) {
        int ran = 0;
        asio::post(context, [&] { ++ran; });
        ASSERT_EQ(context.run_one(), 1u);
        ASSERT_TRUE(context.stopped());
        context.restart();
        asio::post(context, [&] {
            ++ran;
            context.stop();
        });
        ASSERT_EQ(context.run(), 1u);
        context.restart();
        ASSERT_EQ(ran, 2);
    }
}

TEST(AsioContextEnds, StopAndRestartMayBeMixedBetweenItAndItsIoContext) {
    Context context;
    auto guard = asio::make_work_guard(context.get_executor());
    context.stop();
    EXPECT_TRUE(plain(context).stopped());
    plain(context).restart();
    EXPECT_FALSE(context.stopped());
    asio::post(context, [&] { plain(context).stop(); });
    EXPECT_EQ(context.run(), 1u);
    context.restart();
    asio::post(context, [&] { context.stop(); });
    EXPECT_EQ(context.run(), 1u);
}

TEST(AsioContextEnds, RunAndPollReturnWhileTheLoopIsBusyWithOtherTasks) {
    std::atomic<bool> over{false};
    std::function<void()> busy;
    EventLoopGroup group(withAsio());
    Context context(group.loop(0));
    busy = [&] {
        if (!over) group.loop(0).execute(busy);
    };
    group.loop(0).execute(busy);
    asio::post(context, [] {});
    EXPECT_EQ(context.run(), 1u);
    context.restart();
    asio::steady_timer timer(context, 1h);
    timer.async_wait([](auto) {});
    EXPECT_EQ(context.poll(), 0u);
    over = true;
}

// A fiber that goes on trying keeps neither the end nor other fibers waiting.
TEST(AsioContextEnds, AFiberMayTryAgainForAsLongAsItIsRefused) {
    EventLoopGroup group(withAsio());
    Context context(group.loop(0));
    Carrier& carrier = group.carriers().carrier(0);
    std::atomic<bool> refused{false}, over{false};
    auto tries = carrier.spawn([&] {
        asio::steady_timer timer(context, 1h);
        for (ErrorCode error; !over.load(); refused = true) timer.async_wait(use_fiber[error]);
    });
    auto ends = carrier.spawn([&] {
        while (!refused) thisFiber::yield();
        over = true;
    });
    group.shutdownGracefully(0ms, 1h).await();
    tries.join();
    ends.join();
}

TEST(AsioContextEnds, TwoExceptionsOfAHandlerAreThrownTogether) {
    Context context;
    bool ended = false;
    asio::post(context, [&] {
        asio::dispatch(context, [] { throw std::runtime_error("the first"); });
        asio::dispatch(context, [] { throw std::runtime_error("another"); });
        ended = true;
    });
    EXPECT_THROW(context.run(), asio::multiple_exceptions);
    EXPECT_TRUE(ended);
}

TEST(AsioContextEnds, AnExceptionOfAFunctionInsideAHandlerThatThrowsItselfIsNotThrownByALaterRun) {
    Context context;
    bool ran = false;
    asio::post(context, [&] {
        asio::dispatch(context, [] { throw std::runtime_error("the inner"); });
        throw std::logic_error("the outer");
    });
    asio::post(context, [&] { ran = true; });
    EXPECT_THROW(context.run(), std::logic_error);
    EXPECT_EQ(context.run(), 1u);
    EXPECT_TRUE(ran);
}

TEST(AsioContextEnds, TheEndOfItsLoopEndsRunAndLaterCallsAreRefused) {
    auto group = std::make_unique<EventLoopGroup>(withAsio());
    EventLoop& loop = group->loop(0);
    const auto loops = group->loopSet();
    std::optional<Context> context(loop);
    auto guard = asio::make_work_guard(context->get_executor());
    std::atomic<bool> running{false};
    asio::post(*context, [&] { running = true; });
    std::thread runner([&] { EXPECT_THROW(context->run(), SystemError); });
    while (!running) std::this_thread::yield();
    group.reset();
    runner.join();
    EXPECT_THROW(context->run(), SystemError);
    const auto witness = std::make_shared<int>(0);
    asio::post(*context, [witness] { FAIL(); });
    guard.reset();
    context.reset();
    EXPECT_EQ(witness.use_count(), 1) << "destroyed with it";
    EXPECT_THROW(Context another(loop), SystemError);
}

TEST(AsioContextEnds, AStoppedGroupWithFunctionsWaitingSleeps) {
    EventLoopGroup group(withAsio());
    ContextGroup contexts(group);
    Context& context = contexts.context(0);
    context.stop();
    for (int i = 0; i < 3; ++i) asio::post(context, [] {});
    Carrier& carrier = group.carriers().carrier(0);
    const auto parks = carrier.spawn([&] { return carrier.stats().parks; }).join();
    while (carrier.stats().parks < parks + 1) std::this_thread::yield();
    context.restart();
    std::atomic<bool> ran{false};
    asio::post(context, [&] { ran = true; });
    while (!ran) std::this_thread::yield();
}

// Exits the forked child with a status that tells whether run() was refused.
[[noreturn]] void exitByWhetherRunIsRefused(Context& context) {
    bool refused = false;
    try {
        context.run();
    } catch (const SystemError&) {
        refused = true;
    }
    ::_exit(refused ? 0 : 1);
}

bool endedWell(pid_t child) {
    int status = 0;
    return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(AsioContextEnds, AForkedChildNeitherWaitsNorRuns) {
    Context context;
    asio::post(context, [] {});
    const pid_t child = ::fork();
    if (child == 0) exitByWhetherRunIsRefused(context);
    EXPECT_TRUE(endedWell(child));
    EXPECT_EQ(context.run(), 1u);
}

// As a program with an io_context does: Asio creates its descriptors anew in the child.
TEST(AsioContextEnds, AForkThatIsAnnouncedLeavesTheParentWorking) {
    Context context;
    asio::steady_timer timer(context, std::chrono::milliseconds(1));
    int called = 0;
    timer.async_wait([&](auto error) { called += !error; });
    context.notify_fork(asio::execution_context::fork_prepare);
    const pid_t child = ::fork();
    if (child == 0) {
        context.notify_fork(asio::execution_context::fork_child);
        exitByWhetherRunIsRefused(context);
    }
    context.notify_fork(asio::execution_context::fork_parent);
    EXPECT_TRUE(endedWell(child));
    EXPECT_EQ(context.run(), 1u);
    EXPECT_EQ(called, 1);
}

TEST(AsioContextEnds, AFunctionWhoseMoveThrowsIsFreedAndRunThrowsTheException) {
    struct ThrowsLater {
        explicit ThrowsLater(std::shared_ptr<int> its) : kept(std::move(its)) {}
        ThrowsLater(ThrowsLater&& other) : kept(other.kept), moves(other.moves + 1) {
            if (moves > 6) throw std::runtime_error("moved too often");
        }
        void operator()() const {}
        std::shared_ptr<int> kept;
        int moves = 0;
        std::array<char, 300> large{};
    };
    const auto witness = std::make_shared<int>(0);
    Context context;
    bool thrown = false;
    try {
        for (int moves = 0; moves < 7; ++moves) {
            ThrowsLater function(witness);
            function.moves = moves;
            context.get_executor().execute(std::move(function));
            context.restart();
            context.run();
        }
    } catch (const std::runtime_error&) {
        thrown = true;
    }
    EXPECT_TRUE(thrown);
    EXPECT_EQ(witness.use_count(), 1);
}

}  // namespace
}  // namespace weft::asio_io
