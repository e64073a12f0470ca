#include <weft/scheduler/blocking.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/log_capture.hpp"

namespace weft {
namespace {

CarrierOptions carriers(unsigned count, std::size_t threads = 512) {
    CarrierOptions options;
    options.carriers = count;
    options.blockingThreads = threads;
    return options;
}

ErrorCode outcome(const std::function<void()>& call) {
    try {
        call();
    } catch (const SystemError& error) {
        return error.code();
    }
    return {};
}

std::string threadName() {
    std::array<char, 16> name{};
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    return name.data();
}

TEST(Blocking, TheFunctionRunsOnAThreadOfItsOwnAndItsResultComesBack) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            const std::thread::id carrier = std::this_thread::get_id();
            EXPECT_NE(blocking([] { return std::this_thread::get_id(); }), carrier);
            EXPECT_EQ(std::this_thread::get_id(), carrier);
            EXPECT_EQ(blocking(threadName), "weft-block");
            int written = 0;
            blocking([&] { written = 5; });
            EXPECT_EQ(written, 5);
            EXPECT_EQ(*blocking([] { return std::make_unique<int>(7); }), 7);
            EXPECT_THROW(blocking([] { throw std::runtime_error("from the thread"); }), std::runtime_error);
        })
        .join();
    EXPECT_EQ(group.blockingPool().threads(), 1u) << "one call at a time needs one thread";
}

TEST(Blocking, OtherFibersOfTheCarrierRunMeanwhile) {
    CarrierGroup group(carriers(1));
    std::atomic<bool> released{false};
    auto waiting = group.spawn([&] {
        return blocking([&] {
            while (!released) std::this_thread::yield();
            return 1;
        });
    });
    EXPECT_EQ(group.spawn([] { return 2; }).join(), 2);
    EXPECT_FALSE(waiting.done());
    released = true;
    EXPECT_EQ(waiting.join(), 1);
}

TEST(Blocking, EachOfManyCallsAtATimeHasAThreadUpToTheLimit) {
    CarrierGroup group(carriers(2, 4));
    std::atomic<int> inside{0};
    std::atomic<bool> released{false};
    std::vector<JoinHandle<void>> fibers;
    for (std::size_t i = 0; i < 10; ++i) {
        fibers.push_back(group.carrier(i % 2).spawn([&] {
            blocking([&] {
                ++inside;
                while (!released) std::this_thread::yield();
                --inside;
            });
        }));
    }
    while (inside < 4 || group.blockingPool().queued() < 6) std::this_thread::yield();
    EXPECT_EQ(inside, 4);
    EXPECT_EQ(group.blockingPool().threads(), 4u);
    released = true;
    for (auto& fiber : fibers) fiber.join();
}

TEST(Blocking, ABurstOfCallsIsServedAndEachResultReachesItsFiber) {
    CarrierGroup group(carriers(2, 8));
    std::vector<JoinHandle<int>> fibers;
    for (int i = 0; i < 2000; ++i) {
        fibers.push_back(
            group.carrier(static_cast<std::size_t>(i % 2)).spawn([i] { return blocking([i] { return i; }); }));
    }
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(fibers[static_cast<std::size_t>(i)].join(), i);
}

TEST(Blocking, ACancellationWithdrawsACallThatHasNotBegun) {
    CarrierGroup group(carriers(1, 1));
    std::atomic<bool> begun{false};
    std::atomic<bool> released{false};
    auto running = group.spawn([&] {
        blocking([&] {
            begun = true;
            while (!released) std::this_thread::yield();
        });
        EXPECT_THROW(thisFiber::sleepFor(std::chrono::hours(1)), SystemError);
        return true;
    });
    while (!begun) std::this_thread::yield();
    auto queued = group.spawn([] { blocking([] { ADD_FAILURE() << "it was cancelled before"; }); });
    while (group.blockingPool().queued() == 0) std::this_thread::yield();
    queued.cancel();
    EXPECT_EQ(outcome([&] { queued.join(); }), operationAborted());
    EXPECT_EQ(group.blockingPool().queued(), 0u);
    running.cancel();
    EXPECT_EQ(group.spawn([] { return 1; }).join(), 1);
    EXPECT_FALSE(running.done()) << "the function uses the fiber's variables";
    released = true;
    EXPECT_TRUE(running.join());
}

TEST(Blocking, AShutdownWaitsForTheFunctionThatRuns) {
    std::atomic<bool> begun{false};
    std::atomic<bool> ended{false};
    {
        CarrierGroup group(carriers(1));
        group
            .spawn([&] {
                blocking([&] {
                    begun = true;
                    std::this_thread::yield();
                    ended = true;
                });
            })
            .detach();
        while (!begun) std::this_thread::yield();
    }
    EXPECT_TRUE(ended);
}

TEST(Blocking, OnAPlainThreadItIsAPlainCall) {
    EXPECT_EQ(blocking([] { return std::this_thread::get_id(); }), std::this_thread::get_id());
    EXPECT_THROW(blocking([] { throw std::runtime_error("here"); }), std::runtime_error);
}

TEST(Blocking, WhereNothingMayBlockItIsAnError) {
    CarrierGroup group(carriers(1));
    group
        .spawn([&] {
            const NonSuspendingScope scope;
            EXPECT_THROW(blocking([] { ADD_FAILURE(); }), BlockingOperationException);
        })
        .join();
    EXPECT_EQ(group.blockingPool().threads(), 0u);
}

TEST(Blocking, AReferenceThatTheFunctionReturnsComesBack) {
    int number = 1;
    std::string text = "moved from";
    const auto lvalue = [&]() -> int& { return number; };
    const auto constant = [&]() -> const int& { return number; };
    const auto rvalue = [&]() -> std::string&& { return std::move(text); };
    static_assert(std::is_same_v<decltype(blocking(lvalue)), int&>);
    static_assert(std::is_same_v<decltype(blocking(constant)), const int&>);
    static_assert(std::is_same_v<decltype(blocking(rvalue)), std::string&&>);
    const auto check = [&] {
        EXPECT_EQ(&blocking(lvalue), &number);
        EXPECT_EQ(&blocking(constant), &number);
        std::string&& same = blocking(rvalue);
        EXPECT_EQ(&same, &text);
        EXPECT_THROW(blocking([]() -> int& { throw std::runtime_error("no reference"); }), std::runtime_error);
    };
    check();
    CarrierGroup group(carriers(1));
    group.spawn(check).join();
}

TEST(BlockingPoolTest, AnIdleThreadEndsAfterItsTime) {
    BlockingPoolOptions options;
    options.idle = Duration::zero();
    options.name = "weft-short";
    BlockingPool pool(options);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(pool.run(threadName), "weft-short");
        while (pool.threads() != 0) std::this_thread::yield();
    }
}

TEST(BlockingPoolTest, CallsBeyondItsLimitsAreRefused) {
    BlockingPoolOptions options;
    options.threads = 1;
    options.maxQueued = 1;
    BlockingPool pool(options);
    CarrierGroup group(carriers(1));
    std::atomic<bool> begun{false};
    std::atomic<bool> released{false};
    auto running = group.spawn([&] {
        pool.run([&] {
            begun = true;
            while (!released) std::this_thread::yield();
        });
    });
    while (!begun) std::this_thread::yield();
    auto queued = group.spawn([&] { return pool.run([] { return 3; }); });
    while (pool.queued() == 0) std::this_thread::yield();
    EXPECT_EQ(outcome([&] { pool.run([] { ADD_FAILURE(); }); }), fromErrno(EAGAIN));
    released = true;
    running.join();
    EXPECT_EQ(queued.join(), 3);
}

TEST(BlockingPoolTest, PostedFunctionsRunInTheOrderOfTheCallsAndTheDestructorWaitsForAll) {
    std::vector<int> called;
    std::atomic<bool> released{false};
    {
        BlockingPoolOptions options;
        options.threads = 1;
        BlockingPool pool(options);
        pool.post([&] {
            while (!released) std::this_thread::yield();
        });
        for (int i = 0; i < 10; ++i)
            pool.post([&called, owned = std::make_unique<int>(i)] { called.push_back(*owned); });
        released = true;
    }
    EXPECT_EQ(called, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

// Returns once the pool's destructor has taken the threads, which it joins.
void awaitClosing(const BlockingPool& pool) {
    while (pool.threads() != 0) std::this_thread::yield();
}

TEST(BlockingPoolTest, AFunctionMayPostAnotherDuringTheDestructorWhichWaitsForBoth) {
    std::atomic<int> called{0};
    std::thread::id first;
    {
        BlockingPoolOptions options;
        options.threads = 1;
        BlockingPool pool(options);
        pool.post([&] {
            awaitClosing(pool);
            first = std::this_thread::get_id();
            pool.post([&] {
                pool.post([&] { ++called; });
                EXPECT_EQ(std::this_thread::get_id(), first);
                ++called;
            });
            ++called;
        });
    }
    EXPECT_EQ(called, 3);
}

TEST(BlockingPoolTest, FunctionsThatPostDuringTheDestructorStartNoThread) {
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> called{0};
        {
            BlockingPoolOptions options;
            options.threads = 4;
            options.idle = Duration::zero();  // a thread without a call leaves while others post
            BlockingPool pool(options);
            for (int i = 0; i < 3; ++i) {
                pool.post([&] {
                    awaitClosing(pool);
                    for (int k = 0; k < 3; ++k) pool.post([&] { pool.post([&] { ++called; }); });
                });
            }
        }
        EXPECT_EQ(called, 9);
    }
}

TEST(BlockingPoolTest, ARunDuringTheDestructorIsRefused) {
    ErrorCode refused;
    {
        BlockingPoolOptions options;
        options.threads = 1;
        BlockingPool pool(options);
        pool.post([&] {
            awaitClosing(pool);
            refused = outcome([&] { pool.run([] { ADD_FAILURE(); }); });
        });
    }
    EXPECT_EQ(refused, operationAborted());
}

TEST(BlockingPoolTest, AHandlerMayPost) {
    CarrierGroup group(carriers(1));
    std::atomic<bool> called{false};
    group
        .spawn([&] {
            const NonSuspendingScope scope;
            group.blockingPool().post([&] { called = true; });
        })
        .join();
    while (!called) std::this_thread::yield();
}

TEST(BlockingPoolTest, AnExceptionOfAPostedFunctionIsLogged) {
    const test::LogCapture log;
    {
        BlockingPool pool;
        pool.post([] { throw std::runtime_error("on its own"); });
    }
    EXPECT_EQ(log.countAt(LogLevel::error, "a function posted to a BlockingPool threw: on its own"), 1);
}

TEST(BlockingPoolTest, APostBeyondTheLimitsIsRefusedAndItsFunctionNotCalled) {
    BlockingPoolOptions options;
    options.threads = 1;
    options.maxQueued = 0;
    std::atomic<bool> released{false};
    BlockingPool pool(options);
    pool.post([&] {
        while (!released) std::this_thread::yield();
    });
    while (pool.queued() != 0) std::this_thread::yield();
    try {
        pool.post([] { ADD_FAILURE(); });
    } catch (const SystemError& error) {
        const std::string text = error.what();
        EXPECT_EQ(text.find("blocking: the pool is full: its 1 threads are in calls, and 0 calls wait, of at most 0;"),
                  0u)
            << text;
        EXPECT_NE(text.find("CarrierOptions::blockingThreads"), std::string::npos) << text;
    }
    const auto owned = std::make_shared<int>();
    EXPECT_EQ(outcome([&] { pool.post([owned] { ADD_FAILURE(); }); }), fromErrno(EAGAIN));
    EXPECT_EQ(owned.use_count(), 1);
    released = true;
}

TEST(BlockingPoolTest, APoolThatDoesNotJoinMayBeDestroyedByItsOwnFunction) {
    BlockingPoolOptions options;
    options.joinsThreads = false;
    options.idle = Duration::zero();
    std::atomic<bool> released{false};
    std::atomic<int> ended{0};
    auto pool = std::make_shared<BlockingPool>(options);
    for (int i = 0; i < 3; ++i) {
        pool->post([&, pool]() mutable {
            while (!released) std::this_thread::yield();
            pool.reset();
            ++ended;
        });
    }
    EXPECT_EQ(ended, 0);
    released = true;
    pool.reset();
    while (ended != 3) std::this_thread::yield();
}

TEST(BlockingPoolTest, BadOptionsAreRefusedByName) {
    const auto message = [](auto set) {
        BlockingPoolOptions options;
        set(options);
        try {
            const BlockingPool pool(options);
        } catch (const ConfigurationError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_NE(message([](auto& o) { o.threads = 0; }).find("threads is '0'"), std::string::npos);
    EXPECT_NE(message([](auto& o) { o.idle = Duration(-1); }).find("idle (ns) is '-1'"), std::string::npos);
    EXPECT_NE(message([](auto& o) { o.maxQueued = 10'000'001; }).find("maxQueued is '10000001'"), std::string::npos);
    EXPECT_NE(message([](auto& o) { o.name = "0123456789abcdef"; }).find("name is '0123456789abcdef'"),
              std::string::npos);
    EXPECT_EQ(message([](auto&) {}), "accepted");
}

}  // namespace
}  // namespace weft
