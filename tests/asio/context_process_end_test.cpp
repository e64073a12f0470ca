// Ends of the process while a Context exists: exit() in each kind of code that runs on its carrier, the end of main,
// a forked child, exceptions; and ends that are refused.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/suspension.hpp>

#include "asio/waiting_code.hpp"
#include "support/sanitized.hpp"

#ifndef WEFT_SANITIZED
namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using test::Kind;
using test::Who;
using namespace std::chrono_literals;

constexpr auto everyone = {Who::function, Who::strand, Who::fiber, Who::coroutine, Who::callback};
constexpr auto someKinds = {Kind::timer, Kind::accept, Kind::promise};

// A process that hangs ends with a status that no test accepts.
void limitTime() {
    std::signal(SIGALRM, [](int) { ::_exit(99); });
    ::alarm(20);
}

// Code of each kind waits in the context, and has begun to.
void letAllWait(Context& context) {
    std::atomic<int> begun{0};
    const auto held = std::make_shared<int>(0);
    for (const Who who : everyone) {
        for (const Kind kind : someKinds) test::startWaiting(context, who, kind, held, [&begun] { ++begun; });
    }
    while (begun < static_cast<int>(everyone.size() * someKinds.size())) context.run_for(1ms);
}

// Runs `exits` in code of the kind `who` of the context, until the process ends.
template <class Exits>
[[noreturn]] void runIn(Context& context, Who who, Exits exits) {
    switch (who) {
        case Who::function: asio::post(FiberExecutor(context), exits); break;
        case Who::strand: asio::post(FiberStrand(context), exits); break;
        case Who::fiber: context.loop().carrier()->spawnDetached(exits); break;
        case Who::coroutine:
            asio::co_spawn(
                context,
                [exits]() -> asio::awaitable<void> {
                    exits();
                    co_return;
                },
                asio::detached);
            break;
        case Who::callback: asio::post(context, exits); break;
    }
    const auto work = asio::make_work_guard(context);
    for (;;) context.run();
}

class AsioProcessEndDeathTest : public testing::TestWithParam<Who> {
  protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
class AsioEndDeathTest : public testing::Test {
  protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_P(AsioProcessEndDeathTest, ExitWithAStaticContext) {
    EXPECT_EXIT(
        {
            limitTime();
            static Context context;
            letAllWait(context);
            runIn(context, GetParam(), [] { std::exit(7); });
        },
        testing::ExitedWithCode(7), "");
}

TEST_P(AsioProcessEndDeathTest, ExitWithTwoStaticContexts) {
    EXPECT_EXIT(
        {
            limitTime();
            static Context before;
            static Context context;
            static Context after;
            letAllWait(before);
            letAllWait(context);
            letAllWait(after);
            runIn(context, GetParam(), [] { std::exit(7); });
        },
        testing::ExitedWithCode(7), "");
}

// They wait for the end of their operation in a Context whose carrier is inside exit().
TEST_P(AsioProcessEndDeathTest, ExitWhileFunctionsOfAnotherContextWaitForItsObjects) {
    EXPECT_EXIT(
        {
            limitTime();
            static Context context;
            static Context other;
            static asio::steady_timer timer(context, 1h);
            std::atomic<int> begun{0};
            for (int i = 0; i < 2; ++i) {
                asio::post(FiberExecutor(other), [&begun] {
                    ++begun;
                    timer.async_wait(use_fiber);
                });
            }
            while (begun < 2) other.run_for(1ms);
            runIn(context, GetParam(), [] { std::exit(7); });
        },
        testing::ExitedWithCode(7), "");
}

TEST_P(AsioProcessEndDeathTest, ExitWithAContextOnTheStackOfMain) {
    EXPECT_EXIT(
        {
            limitTime();
            Context context;
            letAllWait(context);
            runIn(context, GetParam(), [] { std::exit(7); });
        },
        testing::ExitedWithCode(7), "");
}

TEST_P(AsioProcessEndDeathTest, AnotherContextIsDestroyedInIt) {
    EXPECT_EXIT(
        {
            limitTime();
            static Context context;
            auto* const other = new Context;
            letAllWait(*other);
            runIn(context, GetParam(), [other] {
                const auto destroys = [other] { delete other; };
                if (Suspension::allowed()) destroys();
                else std::thread(destroys).join();
                ::_exit(7);
            });
        },
        testing::ExitedWithCode(7), "");
}

TEST_P(AsioProcessEndDeathTest, AForkedChildDestroysTheContext) {
    EXPECT_EXIT(
        {
            limitTime();
            auto* const context = new Context;
            letAllWait(*context);
            test::startWaiting(*context, GetParam(), Kind::timer, nullptr, [] {});  // not begun
            const pid_t forked = ::fork();
            if (forked == 0) {
                delete context;
                std::exit(7);
            }
            int status = 0;
            ::waitpid(forked, &status, 0);
            delete context;
            ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
        },
        testing::ExitedWithCode(7), "");
}

INSTANTIATE_TEST_SUITE_P(Table, AsioProcessEndDeathTest, testing::ValuesIn(everyone),
                         [](const auto& row) { return test::nameOf(row.param); });

TEST_F(AsioEndDeathTest, MainReturnsWithAStaticContext) {
    EXPECT_EXIT(
        {
            limitTime();
            static Context context;
            letAllWait(context);
            std::exit(7);
        },
        testing::ExitedWithCode(7), "");
}

TEST_F(AsioEndDeathTest, AThreadExitsWhileMainRunsAStaticContext) {
    EXPECT_EXIT(
        {
            limitTime();
            static Context context;
            letAllWait(context);
            std::thread([] { std::exit(7); }).detach();
            EXPECT_THROW(runIn(context, Who::callback, [] {}), SystemError) << "unless the process has ended before";
            for (;;) ::pause();
        },
        testing::ExitedWithCode(7), "");
}

TEST_F(AsioEndDeathTest, AFiberOfAnotherCarrierExitsWithAStaticContext) {
    EXPECT_EXIT(
        {
            limitTime();
            static Context context;
            letAllWait(context);
            CarrierGroup::instance().spawn([] { std::exit(7); }).join();
        },
        testing::ExitedWithCode(7), "");
}

TEST_F(AsioEndDeathTest, AHandlersExceptionLeavesMain) {
    EXPECT_EXIT(
        {
            limitTime();
            static Context context;
            letAllWait(context);
            asio::post(context, [] { throw std::runtime_error("of a handler"); });
            [&]() noexcept { context.run(); }();
        },
        testing::KilledBySignal(SIGABRT), "of a handler");
}

TEST_F(AsioEndDeathTest, AHandlersExceptionIsCaughtInMain) {
    EXPECT_EXIT(
        {
            limitTime();
            static Context context;
            letAllWait(context);
            asio::post(context, [] { throw std::runtime_error("of a handler"); });
            try {
                context.run();
            } catch (const std::runtime_error&) {
                std::exit(7);
            }
        },
        testing::ExitedWithCode(7), "");
}

TEST_F(AsioEndDeathTest, AContextThatItsOwnHandlerDestroysIsRefused) {
    EXPECT_EXIT(
        {
            limitTime();
            auto* const context = new Context;
            asio::post(*context, [context] { delete context; });
            context->run();
        },
        testing::KilledBySignal(SIGABRT), "destroyed inside an event loop's dispatch");
}

TEST_F(AsioEndDeathTest, AContextThatItsOwnFunctionDestroysIsRefused) {
    for (const Who who : {Who::function, Who::strand}) {
        EXPECT_EXIT(
            {
                limitTime();
                auto* const context = new Context;
                runIn(*context, who, [context] { delete context; });
            },
            testing::KilledBySignal(SIGABRT), "destroyed by a function of its own");
    }
}

}  // namespace
}  // namespace weft::asio_io
#endif
