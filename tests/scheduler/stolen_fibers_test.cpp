// How a stolen fiber uses the state of its home (docs/explanation/testing.md, "State that only the turns of a carrier
// order"): it goes home before it uses the state, or is refused with an error. tests/framework/fibers_away_test.cpp
// covers the sockets, loops and channels of a home.
#include <gtest/gtest.h>

#include <cerrno>
#include <exception>
#include <stdexcept>
#include <string>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/fiber_set.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/task_scope.hpp>

#include "scheduler/be_stolen.hpp"

#include <unistd.h>

namespace weft {
namespace {

using test::beStolen;
using test::mayBeStolen;

class StolenFibers : public testing::Test {
  public:
    Carrier& home() { return group.carrier(0); }
    Carrier& thief() { return group.carrier(1); }
    template <class F>
    void inFiber(F body) {
        test::runStealableFiber(home(), std::move(body));
    }
    // Has the fiber stolen first; expects that the call ends at home.
    template <class F>
    void goesHome(const char* what, F call) {
        beStolen();
        ASSERT_EQ(Carrier::current(), &thief()) << what;
        call();
        EXPECT_EQ(Carrier::current(), &home()) << what;
    }

    CarrierGroup group{test::stealingAtOnce(CarrierOptions(), 2)};
};

TEST_F(StolenFibers, TimersFireOnTheWheelOfTheirHome) {
    inFiber([this] {
        Promise<void> never;
        const Future<void> future = never.future();
        goesHome("a sleep", [] { thisFiber::sleepFor(std::chrono::microseconds(1)); });
        goesHome("a wait with a deadline", [&] { EXPECT_FALSE(future.awaitFor(std::chrono::microseconds(1))); });
        goesHome("a wait that passes no time", [&] { EXPECT_FALSE(future.awaitUntil(TimePoint{})); });
        never.setValue();
    });
    EXPECT_GE(home().stats().timersFired, 1u);
    EXPECT_EQ(thief().stats().timersFired, 0u);
    EXPECT_GE(thief().stats().stolen, 3u);
}

TEST_F(StolenFibers, WaitsBeginAndEndAtHome) {
    inFiber([this] {
        goesHome("a wait",
                 [this] {  // all other waits begin like this one: for a future that is not ready, a lock, a socket
                     Suspension wait("test");
                     EXPECT_EQ(Carrier::current(), &home());
                     home().spawnDetached([key = wait.key()] { key.wake(); }, {.stealable = Stealable::never});
                     wait.park();
                 });
        goesHome("a wait that is over already", [] {
            Suspension wait("test");
            wait.key().wake();
            wait.park();
        });
        goesHome("an uninterruptible wait", [] {
            Suspension wait("test");
            wait.key().wake();
            wait.parkUninterruptibly();
        });
        FiberSet set;
        goesHome("a place in a set", [&set] { const FiberSet::Member member(set); });
        EXPECT_TRUE(set.empty());
    });
}

// The wait itself is at home; only with Stealable::any may the fiber continue elsewhere after it.
TEST_F(StolenFibers, AScopesParentWaitsForItsChildren) {
    inFiber([] {
        int ran = 0;
        for (int round = 0; round < 20; ++round) {
            TaskScope scope;
            beStolen();
            scope.spawn([&ran] { ++ran; });
            scope.join();
        }
        EXPECT_EQ(ran, 20);
    });
}

TEST_F(StolenFibers, MayUseTheirHomesObjectsAfterGoingHome) {
    struct Service {
        int uses = 0;
    };
    inFiber([this] {
        int& uses = home().local<Service>().uses;
        beStolen();
        EXPECT_EQ(thisFiber::carrier()->spawn([] { return thisFiber::carrier(); }).join(), &home());
        goesHome("goHome()", [&] {
            thisFiber::goHome();
            ++home().local<Service>().uses;
        });
        EXPECT_EQ(uses, 1);
    });
}

#ifndef NDEBUG
TEST_F(StolenFibers, MayNotUseTheirHomesLocalObjectsWhileAway) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(inFiber([this] {
                     beStolen();
                     (void)home().local<int>();
                 }),
                 "Carrier::local\\(\\) of another carrier; call thisFiber::goHome\\(\\) first");
}
#endif

TEST_F(StolenFibers, ANonSuspendingScopeBelongsToTheThief) {
    inFiber([this] {
        beStolen();
        {
            const NonSuspendingScope scope;
            EXPECT_THROW(thisFiber::goHome(), BlockingOperationException);
            EXPECT_THROW(thisFiber::yield(), BlockingOperationException);
            EXPECT_EQ(Carrier::current(), &thief());
        }
        thisFiber::goHome();
        EXPECT_FALSE(NonSuspendingScope::active());
    });
}

TEST_F(StolenFibers, ThreadLocalsAndErrnoAreThoseOfTheThreadThatRunsThem) {
    inFiber([this] {
        const pid_t homes = ::gettid();
        EXPECT_EQ(::close(-1), -1);
        EXPECT_EQ(lastErrno(), EBADF);
        beStolen();
        EXPECT_NE(::gettid(), homes);
        EXPECT_EQ(thisFiber::runningCarrier(), &thief());
        EXPECT_EQ(thisFiber::carrier(), &home());
        EXPECT_EQ(::rmdir(""), -1);
        EXPECT_EQ(lastErrno(), ENOENT);
        thisFiber::goHome();
        EXPECT_EQ(::gettid(), homes);
        EXPECT_NE(lastErrno(), ENOENT);
    });
}

// Saved contexts: caught exceptions and exceptions that unwind the stack belong to the fiber.
TEST_F(StolenFibers, KeepTheirExceptions) {
    inFiber([] {
        try {
            try {
                throw std::runtime_error("thrown at home");
            } catch (const std::runtime_error&) {
                beStolen();
                throw;
            }
        } catch (const std::runtime_error& error) {
            EXPECT_EQ(error.what(), std::string("thrown at home"));
            thisFiber::goHome();
            EXPECT_NE(std::current_exception(), nullptr);
        }
        EXPECT_EQ(std::current_exception(), nullptr);
    });
}

}  // namespace
}  // namespace weft
