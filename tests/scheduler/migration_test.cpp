// Fibers that continue on another thread, as they do when carriers steal. State that the language runtime keeps per
// thread must move with them or be looked up again. Here the test moves them; the library keeps a fiber on its carrier
// unless it is stolen.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "scheduler/move_to.hpp"

#include <unistd.h>

namespace weft {
namespace {

using test::moveTo;

// Other carriers may run the fibers, as moveTo() requires, but steal none themselves.
CarrierOptions carriers(unsigned count) {
    CarrierOptions options;
    options.carriers = count;
    options.workStealing = true;
    options.stealDepth = 1'000'000;
    options.stealAge = std::chrono::seconds(1);
    return options;
}

// Moves the fiber between the carriers of a group, in an order that depends on the seed; ends on its home.
class Wanderer {
  public:
    Wanderer(CarrierGroup& group, unsigned seed) : group_(group), random_(seed) {}
    void step() {
        moveTo(group_.carrier(random_() % group_.size()));
        ++steps_;
    }
    void goHome() { moveTo(*thisFiber::carrier()); }
    unsigned steps() const { return steps_; }

  private:
    CarrierGroup& group_;
    std::minstd_rand random_;
    unsigned steps_ = 0;
};

TEST(Migration, AFiberFindsItsNewCarrierAndKeepsItsHome) {
    CarrierGroup group(carriers(2));
    group.carrier(0)
        .spawn([&] {
            const pid_t first = ::gettid();
            moveTo(group.carrier(1));
            EXPECT_NE(::gettid(), first);
            EXPECT_EQ(Carrier::current(), &group.carrier(1));
            EXPECT_EQ(thisFiber::runningCarrier(), &group.carrier(1));
            EXPECT_EQ(thisFiber::carrier(), &group.carrier(0));
            thisFiber::goHome();
            EXPECT_EQ(::gettid(), first);
            EXPECT_EQ(Carrier::current(), &group.carrier(0));
            thisFiber::goHome();  // has no effect there
            EXPECT_EQ(::gettid(), first);
        })
        .join();
}

// A fiber performs every wait at home, and a yield leaves it there too.
TEST(Migration, AFiberComesHomeBeforeItWaitsOrYields) {
    CarrierGroup group(carriers(2));
    Carrier& home = group.carrier(0);
    home.spawn([&] {
            const auto comesHome = [&](const char* what, auto wait) {
                moveTo(group.carrier(1));
                EXPECT_FALSE(home.isCurrent());
                wait();
                EXPECT_TRUE(home.isCurrent()) << what;
            };
            comesHome("yield", [] { thisFiber::yield(); });
            comesHome("sleep", [] { thisFiber::sleepFor(std::chrono::microseconds(1)); });
            comesHome("join", [&] { group.carrier(1).spawn([] {}).join(); });
            comesHome("a wait that is over already", [] {
                Suspension wait("test");
                wait.key().wake();
                wait.park();
            });
            comesHome("a wait that is given up", [] { const Suspension wait("test"); });
            comesHome("an uninterruptible wait", [] {
                Suspension wait("test");
                wait.key().wake();
                wait.parkUninterruptibly();
            });
        })
        .join();
}

TEST(Migration, AFiberDoesNotGoHomeInsideANonSuspendingScope) {
    CarrierGroup group(carriers(2));
    group.carrier(0)
        .spawn([&] {
            moveTo(group.carrier(1));
            {
                const NonSuspendingScope scope;
                EXPECT_THROW(thisFiber::goHome(), BlockingOperationException);
                EXPECT_FALSE(group.carrier(0).isCurrent());
            }
            thisFiber::goHome();
            const NonSuspendingScope scope;
            thisFiber::goHome();  // it is already there
        })
        .join();
    thisFiber::goHome();  // on a plain thread: no effect
}

TEST(Migration, AFiberThatEndsAwayFromHomeIsTakenOffItsHomesList) {
    CarrierGroup group(carriers(2));
    for (int i = 0; i < 300; ++i) {
        auto fiber = group.carrier(0).spawn([&] {
            moveTo(group.carrier(1));
            return 7;
        });
        EXPECT_EQ(fiber.join(), 7);
    }
    EXPECT_TRUE(group.shutdown(std::chrono::minutes(1)));
    EXPECT_EQ(group.carrier(0).stats().finished, group.carrier(0).stats().spawned);
    EXPECT_EQ(group.carrier(1).stats().finished, group.carrier(1).stats().spawned);
    EXPECT_GE(group.carrier(0).stats().finished, 300u);
}

// The stop may come before the fiber goes home to park, meanwhile, or afterwards; nothing else ends its wait.
TEST(Migration, AFiberThatIsAwayWhenTheShutdownBeginsIsEndedByIt) {
    for (int i = 0; i < 100; ++i) {
        CarrierGroup group(carriers(2));
        Promise<void> never;
        std::atomic<bool> moved{false};
        auto fiber = group.carrier(0).spawn([&, future = never.future()] {
            moveTo(group.carrier(1));
            moved = true;
            future.await();
        });
        while (!moved) std::this_thread::yield();
        EXPECT_TRUE(group.shutdown(std::chrono::minutes(1)));
        EXPECT_THROW(fiber.join(), SystemError);
        never.setValue();
    }
}

TEST(Migration, AFiberIsCancelledOnItsWayHome) {
    CarrierGroup group(carriers(2));
    Promise<void> never;
    for (int i = 0; i < 300; ++i) {
        std::atomic<bool> moved{false};
        auto fiber = group.carrier(0).spawn([&, future = never.future()] {
            {
                const CancellationShield shield;
                moveTo(group.carrier(1));
            }
            moved = true;
            try {
                future.await();
            } catch (const SystemError& error) {
                EXPECT_EQ(error.code(), operationAborted());
            }
        });
        while (!moved) std::this_thread::yield();
        fiber.cancel();
        fiber.join();
    }
    never.setValue();
}

// A caught exception belongs to the fiber: `throw;` finds it on whichever thread the handler continues.
TEST(Migration, ACatchBlockGoesOnOnAnotherThreadWhileOthersThrow) {
    CarrierGroup group(carriers(2));
    const auto body = [&group](unsigned seed) {
        Wanderer wanderer(group, seed);
        const std::string mine = "exception " + std::to_string(seed);
        for (int i = 0; i < 20; ++i) {
            try {
                try {
                    throw std::runtime_error(mine);
                } catch (...) {
                    wanderer.step();
                    try {
                        throw std::logic_error("inner " + mine);
                    } catch (const std::logic_error& inner) {
                        wanderer.step();
                        EXPECT_EQ(inner.what(), "inner " + mine);
                    }
                    wanderer.step();
                    throw;
                }
            } catch (const std::runtime_error& error) {
                EXPECT_EQ(error.what(), mine);
                wanderer.step();
                EXPECT_NE(std::current_exception(), nullptr);
            }
            EXPECT_EQ(std::current_exception(), nullptr);
        }
        wanderer.goHome();
    };
    std::vector<JoinHandle<void>> fibers;
    for (unsigned i = 0; i < 16; ++i) fibers.push_back(group.carrier(i % 2).spawn([&, i] { body(i + 1); }));
    for (auto& fiber : fibers) fiber.join();
}

TEST(Migration, AnUnwindingDestructorGoesOnOnAnotherThread) {
    CarrierGroup group(carriers(2));
    struct Mover {
        Wanderer& wanderer;
        int& uncaught;
        ~Mover() {
            wanderer.step();
            uncaught = std::uncaught_exceptions();
            try {
                throw 2;  // a second exception while the first one propagates
            } catch (int) {
                wanderer.step();
            }
        }
    };
    const auto body = [&](unsigned seed) {
        Wanderer wanderer(group, seed);
        for (int i = 0; i < 20; ++i) {
            int uncaught = 0;
            try {
                const Mover mover{wanderer, uncaught};
                throw std::runtime_error("unwinding");
            } catch (const std::runtime_error&) {
                wanderer.step();
            }
            EXPECT_EQ(uncaught, 1);
            EXPECT_EQ(std::uncaught_exceptions(), 0);
        }
        wanderer.goHome();
    };
    std::vector<JoinHandle<void>> fibers;
    for (unsigned i = 0; i < 16; ++i) fibers.push_back(group.carrier(i % 2).spawn([&, i] { body(i + 1); }));
    for (auto& fiber : fibers) fiber.join();
}

TEST(Migration, AnExceptionThatIsThrownOnOneThreadIsJoinedFromAnother) {
    CarrierGroup group(carriers(2));
    auto thrower = group.carrier(0).spawn([&] {
        moveTo(group.carrier(1));
        std::exception_ptr carried;
        try {
            throw std::runtime_error("thrown away from home");
        } catch (...) {
            carried = std::current_exception();
        }
        moveTo(group.carrier(0));
        std::rethrow_exception(carried);
    });
    auto joiner = group.carrier(1).spawn([&] {
        try {
            thrower.join();
        } catch (const std::runtime_error& error) {
            return std::string(error.what());
        }
        return std::string("(nothing thrown)");
    });
    EXPECT_EQ(joiner.join(), "thrown away from home");
}

TEST(Migration, ErrnoIsThatOfTheThreadThatRunsTheFiber) {
    CarrierGroup group(carriers(2));
    group.carrier(0)
        .spawn([&] {
            for (int i = 0; i < 50; ++i) {
                EXPECT_EQ(::close(-1), -1);
                EXPECT_EQ(lastErrno(), EBADF);
                moveTo(group.carrier(1));
                EXPECT_EQ(::rmdir(""), -1);
                EXPECT_EQ(lastErrno(), ENOENT);
                moveTo(group.carrier(0));
                EXPECT_NE(lastErrno(), ENOENT)
                    << "the other thread's; the carrier's own calls may have changed this one's";
            }
        })
        .join();
}

// Fibers wake and join each other across carriers while they wander; each wait ends, on the fiber's own carrier.
TEST(Migration, WanderingFibersAreWokenAndJoinedWhereverTheyAre) {
    CarrierGroup group(carriers(3));
    std::vector<JoinHandle<unsigned>> fibers;
    for (unsigned i = 0; i < 30; ++i) {
        fibers.push_back(group.carrier(i % 3).spawn([&, i] {
            Wanderer wanderer(group, i + 1);
            for (int round = 0; round < 30; ++round) {
                wanderer.step();
                auto child = Carrier::current()->spawn([] { thisFiber::yield(); });
                wanderer.step();
                child.join();
            }
            wanderer.goHome();
            EXPECT_EQ(Carrier::current(), thisFiber::carrier());
            return wanderer.steps();
        }));
    }
    for (auto& fiber : fibers) EXPECT_EQ(fiber.join(), 60u);
}

}  // namespace
}  // namespace weft
