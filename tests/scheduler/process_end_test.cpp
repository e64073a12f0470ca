// What ends or copies a process while carriers run: shutdown() from several threads, exit() in a fiber, fork(), and a
// SIGSEGV sent by another process.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <weft/scheduler/blocking.hpp>
#include <weft/scheduler/blocking_pool.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/sanitized.hpp"
#include "support/threads.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace weft {
namespace {

CarrierOptions carriers(unsigned count) {
    CarrierOptions options;
    options.carriers = count;
    return options;
}

using FourThreads = std::array<std::atomic<pid_t>, 4>;

bool allSleep(const FourThreads& threads) {
    return std::all_of(threads.begin(), threads.end(), [](pid_t thread) { return test::threadSleeps(thread); });
}

// Keeps its thread from ending until all of `threads` sleep.
struct LateEnd {
    ~LateEnd() {
        while (!allSleep(*threads)) std::this_thread::yield();
    }
    const FourThreads* threads;
};

// No carrier ends before all four threads wait for it, and no carrier's thread before all four want to join it.
TEST(ConcurrentShutdown, SeveralThreadsMayShutOneGroupDownAtOnce) {
    FourThreads ids{};
    CarrierGroup group(carriers(2));
    for (std::size_t c = 0; c < 2; ++c) {
        group.carrier(c).spawn([&] { static thread_local const LateEnd lateEnd{&ids}; }).join();
        group.carrier(c).spawnDetached([&] {
            while (!allSleep(ids)) thisFiber::yield();
        });
    }
    std::vector<std::thread> threads;
    for (auto& id : ids) {
        threads.emplace_back([&] {
            id = ::gettid();
            EXPECT_TRUE(group.shutdown(std::chrono::minutes(1)));
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(group.shutdown(std::chrono::minutes(1)));
}

TEST(ConcurrentShutdown, AShutdownThatTimesOutLeavesTheOthersWaiting) {
    CarrierGroup group(carriers(2));
    std::atomic<bool> release{false};
    auto busy = group.spawn([&] {
        while (!release) thisFiber::yield();
    });
    std::thread longWait([&] { EXPECT_TRUE(group.shutdown(std::chrono::minutes(1))); });
    EXPECT_FALSE(group.shutdown(std::chrono::milliseconds(1)));
    release = true;
    longWait.join();
    EXPECT_TRUE(group.shutdown(std::chrono::minutes(1)));
    busy.join();
}

#ifndef WEFT_SANITIZED
class ProcessEndDeathTest : public testing::Test {
  protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ProcessEndDeathTest, ExitInAFiberOfTheDefaultGroupEndsTheProcessWithItsStatus) {
    EXPECT_EXIT(CarrierGroup::instance().spawn([] { std::exit(7); }, {.name = "leaver"}).join(),
                testing::ExitedWithCode(7), "exit\\(\\) was called in fiber 'leaver' of carrier weft[0-9]+");
}

TEST_F(ProcessEndDeathTest, ExitInAFiberOfAStaticGroupReportsWhyItCannotEnd) {
    EXPECT_EXIT(
        {
            static CarrierGroup group(carriers(1));
            group.spawn([] { std::exit(7); }, {.name = "leaver"}).join();
        },
        testing::KilledBySignal(SIGABRT),
        "destroyed on its own carrier weft0 \\(fiber 'leaver'\\).*a fiber called exit\\(\\)");
}

TEST_F(ProcessEndDeathTest, ExitInAFunctionOfTheDefaultGroupsPoolEndsTheProcessWithItsStatus) {
    const auto text = "exit\\(\\) was called in a function of the blocking pool";
    EXPECT_EXIT(CarrierGroup::instance().spawn([] { blocking([] { std::exit(7); }); }).join(),
                testing::ExitedWithCode(7), text);
    EXPECT_EXIT(
        {
            CarrierGroup::instance().blockingPool().post([] { std::exit(8); });
            for (;;) ::pause();
        },
        testing::ExitedWithCode(8), text);
}

TEST_F(ProcessEndDeathTest, ExitInAFunctionOfAStaticGroupsPoolReportsWhyItCannotEnd) {
    EXPECT_EXIT(
        {
            static CarrierGroup group(carriers(1));
            group.spawn([] { blocking([] { std::exit(7); }); }).join();
        },
        testing::KilledBySignal(SIGABRT), "destroyed on a thread of its blocking pool.*a function in blocking\\(\\)");
}

TEST_F(ProcessEndDeathTest, APoolThatItsOwnFunctionDestroysReportsWhyItCannotEnd) {
    EXPECT_EXIT(
        {
            auto* const pool = new BlockingPool;
            pool->post([&] { delete pool; });
            for (;;) ::pause();
        },
        testing::KilledBySignal(SIGABRT), "a BlockingPool is destroyed on a thread that it would join");
}

// Runs `child` in a forked process and exits with its status.
template <class Child>
[[noreturn]] void forkAnd(Child child) {
    const pid_t forked = ::fork();
    if (forked == 0) {
        child();
        ::_exit(98);
    }
    int status = 0;
    if (forked < 0 || ::waitpid(forked, &status, 0) != forked) ::_exit(97);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

TEST_F(ProcessEndDeathTest, AForkedChildExitsAlthoughTheCarriersAreNotThere) {
    EXPECT_EXIT(
        {
            static CarrierGroup group(carriers(2));
            CarrierGroup::instance().spawn([] {}).join();
            forkAnd([] { std::exit(3); });
        },
        testing::ExitedWithCode(3), "has no threads in this forked process");
}

TEST_F(ProcessEndDeathTest, AForkedChildIsToldThatItCannotJoinSpawnOrHostAPoller) {
    EXPECT_EXIT(
        {
            Promise<void> promise;
            CarrierGroup& group = CarrierGroup::instance();
            auto waiting = group.spawn([future = promise.future()] { future.await(); });
            auto ended = group.spawn([] { return 5; });
            while (!ended.done()) std::this_thread::yield();
            forkAnd([&] {
                const auto refused = [](auto call) {
                    try {
                        call();
                        ::_exit(90);
                    } catch (const SystemError& error) {
                        if (error.code() != fromErrno(ENOTSUP)) ::_exit(91);
                    }
                };
                refused([&] { waiting.join(); });
                refused([&] { (void)group.spawn([] {}); });
                refused([&] { group.blockingPool().run([] {}); });
                refused([&] { (void)group.carrier(0).registerPinnedPoller([] {}, [](PinnedPoller&) {}); });
                if (!group.shutdown(std::chrono::hours(1))) ::_exit(92);
                ::_exit(ended.join());  // its result was ready before the fork
            });
        },
        testing::ExitedWithCode(5), "in a forked process, which has no carriers");
}

// A thread of the pool waits on its condition variable, and another one is in a call.
TEST_F(ProcessEndDeathTest, AForkedChildDestroysABlockingPool) {
    EXPECT_EXIT(
        {
            auto pool = std::make_unique<BlockingPool>();
            std::atomic<bool> begun{false};
            std::atomic<bool> release{false};
            pool->post([&] {
                begun = true;
                while (!release) std::this_thread::yield();
            });
            while (!begun) std::this_thread::yield();
            pool->run([] {});
            const pid_t forked = ::fork();
            if (forked == 0) {
                if (pool->threads() + pool->idle() + pool->queued() != 0) ::_exit(90);
                ErrorCode refused;
                try {
                    pool->post([] {});
                } catch (const SystemError& error) {
                    refused = error.code();
                }
                pool.reset();
                BlockingPool own;  // made in this process, so it has threads
                std::exit(refused == fromErrno(ENOTSUP) ? own.run([] { return 8; }) : 91);
            }
            int status = 0;
            ::waitpid(forked, &status, 0);
            release = true;
            pool.reset();
            ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
        },
        testing::ExitedWithCode(8), "");
}

TEST_F(ProcessEndDeathTest, AFiberThatForksGoesOnInTheChildAsAPlainThread) {
    EXPECT_EXIT(CarrierGroup::instance()
                    .spawn([] {
                        forkAnd([] {
                            thisFiber::yield();
                            thisFiber::sleepFor(std::chrono::microseconds(1));
                            std::exit(thisFiber::isFiber() ? 96 : 4);
                        });
                    })
                    .join(),
                testing::ExitedWithCode(4), "has no threads in this forked process");
}

TEST_F(ProcessEndDeathTest, AForkedFiberThatReturnsIsAborted) {
    EXPECT_EXIT(CarrierGroup::instance()
                    .spawn([] {
                        const pid_t forked = ::fork();
                        if (forked == 0) return;
                        int status = 0;
                        ::waitpid(forked, &status, 0);
                        ::_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 0 : 1);
                    })
                    .join(),
                testing::ExitedWithCode(0), "a fiber has ended in a forked process");
}

TEST_F(ProcessEndDeathTest, AForkedFunctionOfAPoolThatReturnsIsAborted) {
    const auto forks = [] {
        const pid_t forked = ::fork();
        if (forked == 0) return;
        int status = 0;
        ::waitpid(forked, &status, 0);
        ::_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 0 : 1);
    };
    BlockingPoolOptions options;
    options.idle = Duration::zero();  // without the abort, the child's thread ends
    const auto text = "a function of a BlockingPool has ended in a forked process";
    EXPECT_EXIT(BlockingPool(options).run(forks), testing::ExitedWithCode(0), text);
    EXPECT_EXIT(
        {
            BlockingPool pool(options);
            pool.post(forks);
            for (;;) ::pause();
        },
        testing::ExitedWithCode(0), text);
}

TEST_F(ProcessEndDeathTest, AForkedFunctionOfThePoolExits) {
    EXPECT_EXIT(CarrierGroup::instance().spawn([] { blocking([] { forkAnd([] { std::exit(4); }); }); }).join(),
                testing::ExitedWithCode(4), "has no threads in this forked process");
}

// The result of a fiber that a program does not join. Its destructor runs on the carrier's thread.
struct ForksWhenDestroyed {
    ~ForksWhenDestroyed() {
        const pid_t forked = ::fork();
        if (forked == 0) return;
        int status = 0;
        ::waitpid(forked, &status, 0);
        ::_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 0 : 1);
    }
};

TEST_F(ProcessEndDeathTest, AForkInTheDestructorOfAResultLetsTheChildRunNoFiber) {
    for (const bool stealing : {false, true}) {
        EXPECT_EXIT(
            {
                CarrierOptions options = carriers(2);  // one carrier steals nothing
                options.workStealing = stealing;
                CarrierGroup group(options);
                group.carrier(0)
                    .spawn([] {
                        Carrier& carrier = *Carrier::current();
                        static_cast<void>(carrier.spawn([] { return std::make_unique<ForksWhenDestroyed>(); }));
                        carrier.spawnDetached([parent = ::getpid()] {
                            if (::getpid() != parent) ::_exit(7);
                        });
                        thisFiber::sleepFor(std::chrono::hours(1));
                    })
                    .join();
            },
            testing::ExitedWithCode(0), "a fiber has ended in a forked process");
    }
}

TEST_F(ProcessEndDeathTest, ASegmentationFaultThatIsSentKills) {
    EXPECT_EXIT(
        {
            CarrierGroup group(carriers(1));
            group.spawn([] {}).join();
            ::raise(SIGSEGV);
            ::_exit(5);
        },
        testing::KilledBySignal(SIGSEGV), "");
}

void endWithWhatWasSent(int, siginfo_t* info, void*) {
    ::_exit(info->si_code == SI_QUEUE && info->si_value.sival_int == 42 ? 6 : 7);
}

TEST_F(ProcessEndDeathTest, ASegmentationFaultThatIsSentReachesTheFormerHandlerAsItWas) {
    EXPECT_EXIT(
        {
            struct sigaction action {};
            action.sa_sigaction = &endWithWhatWasSent;
            action.sa_flags = SA_SIGINFO;
            ::sigaction(SIGSEGV, &action, nullptr);
            CarrierGroup group(carriers(1));
            group.spawn([] {}).join();
            ::sigqueue(::getpid(), SIGSEGV, sigval{.sival_int = 42});
            for (;;) ::pause();  // any thread may take the signal
        },
        testing::ExitedWithCode(6), "");
}

TEST_F(ProcessEndDeathTest, ASegmentationFaultThatIsSentIsIgnoredIfItWasSoBefore) {
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, SIG_IGN);
            CarrierGroup group(carriers(1));
            group.spawn([] {}).join();
            ::raise(SIGSEGV);
            struct sigaction now {};
            ::sigaction(SIGSEGV, nullptr, &now);
            ::_exit(now.sa_handler == SIG_IGN ? 1 : 0);  // the overflow report is still installed
        },
        testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace weft
