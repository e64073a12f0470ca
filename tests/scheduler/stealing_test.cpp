// Work stealing as its users see it: which carrier runs a fiber, where the fiber continues, and that no work waits
// while a carrier sleeps. tests/model explores the policy's interleavings, stealable_queue_test.cpp tests the queue.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/fiber_set.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/join_set.hpp>
#include <weft/scheduler/non_migrating_scope.hpp>
#include <weft/scheduler/task_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "scheduler/be_stolen.hpp"

namespace weft {
namespace {

using std::chrono::microseconds;
using test::mayStartAway;

CarrierOptions stealing(unsigned carriers, microseconds age = microseconds(100)) {
    CarrierOptions options;
    options.carriers = carriers;
    options.workStealing = true;
    options.stealAge = age;
    return options;
}

// Occupies a carrier in one slice until it is released or destroyed.
class Spinner {
  public:
    explicit Spinner(Carrier& carrier)
        : fiber_(carrier.spawn(
              [this] {
                  spins_ = true;
                  while (!released_) std::this_thread::yield();
              },
              {.name = "spinner", .stealable = Stealable::never})) {
        while (!spins_) std::this_thread::yield();
    }
    ~Spinner() { release(); }
    void release() {
        released_ = true;
        if (fiber_.valid()) fiber_.join();
    }

  private:
    std::atomic<bool> spins_{false};
    std::atomic<bool> released_{false};
    JoinHandle<void> fiber_;
};

// The carrier that runs a fiber, and its home.
struct Place {
    Carrier* running;
    Carrier* home;
    friend bool operator==(const Place&, const Place&) = default;
};
Place here() {
    return {thisFiber::runningCarrier(), thisFiber::carrier()};
}

void awaitSleep(Carrier& carrier) {
    while (carrier.stats().parks == 0) std::this_thread::yield();
}

TEST(WorkStealing, AnIdleCarrierTakesWorkThatWaitsBehindALongSlice) {
    CarrierGroup group(stealing(2));
    Spinner busy(group.carrier(0));
    Spinner helper(group.carrier(1));
    auto task = group.carrier(0).spawn(here, mayStartAway);
    helper.release();
    EXPECT_EQ(task.join(), (Place{&group.carrier(1), &group.carrier(0)}));
    EXPECT_GE(group.carrier(1).stats().steals, 1u);
    EXPECT_GE(group.carrier(1).stats().stolen, 1u);
}

TEST(WorkStealing, ASleepingCarrierIsCalledToHelp) {
    CarrierGroup group(stealing(2));
    Spinner busy(group.carrier(0));
    awaitSleep(group.carrier(1));
    auto task = group.carrier(0).spawn(here, mayStartAway);
    EXPECT_EQ(task.join(), (Place{&group.carrier(1), &group.carrier(0)}));
    EXPECT_GE(group.carrier(1).stats().calls, 1u);
}

TEST(WorkStealing, ACarrierWhosePollerIsParkedIsCalledToHelp) {
    CarrierGroup group(stealing(2));
    Promise<void> go;
    Future<void> end =
        group.carrier(1).registerPinnedPoller([] {}, [gate = go.future()](PinnedPoller&) { gate.await(); });
    Spinner busy(group.carrier(0));
    awaitSleep(group.carrier(1));
    EXPECT_EQ(group.carrier(0).spawn(here, mayStartAway).join(), (Place{&group.carrier(1), &group.carrier(0)}));
    go.setValue();
    end.get();
}

// All of it is queued before the others sleep, and no thread submits anything after that.
TEST(WorkStealing, NothingWaitsBehindALongSliceWhileOthersSleep) {
    CarrierGroup group(stealing(3));
    std::atomic<int> left{200};
    auto busy = group.carrier(0).spawn(
        [&] {
            for (int i = left; i-- > 0;) group.carrier(0).spawnDetached([&left] { --left; }, mayStartAway);
            while (left != 0) std::this_thread::yield();
        },
        {.stealable = Stealable::never});
    busy.join();
    EXPECT_EQ(left, 0);
    EXPECT_EQ(group.carrier(0).stats().steals, 0u);
}

TEST(WorkStealing, WorkSubmittedToABusyCarrierCanBeStolen) {
    CarrierGroup group(stealing(2, microseconds(0)));
    Spinner busy(group.carrier(0));
    for (int round = 0; round < 100; ++round) {
        std::vector<JoinHandle<Place>> tasks;
        for (int i = 0; i < 5; ++i) tasks.push_back(group.carrier(0).spawn(here, mayStartAway));
        for (auto& task : tasks) EXPECT_EQ(task.join().running, &group.carrier(1));
    }
}

TEST(WorkStealing, AFiberOfAStolenFibersHomeStartsThere) {
    CarrierGroup group(stealing(2));
    Spinner busy(group.carrier(0));
    Carrier* home = nullptr;
    auto task = group.carrier(0).spawn(
        [&] {
            EXPECT_EQ(thisFiber::runningCarrier(), &group.carrier(1));
            return thisFiber::carrier()->spawn([&] { home = thisFiber::carrier(); }, mayStartAway);
        },
        mayStartAway);
    task.join().join();
    EXPECT_EQ(home, &group.carrier(0));
}

TEST(WorkStealing, AStolenFiberGoesOnAtHomeAfterItsFirstWait) {
    CarrierGroup group(stealing(2));
    Spinner busy(group.carrier(0));
    std::atomic<bool> stolen{false};
    auto task = group.carrier(0).spawn(
        [&] {
            stolen = thisFiber::runningCarrier() == &group.carrier(1);
            thisFiber::yield();
            return here();
        },
        mayStartAway);
    while (!stolen) std::this_thread::yield();
    // The first begins on the other carrier after the task's yield, so the task was at home before the second.
    for (int i = 0; i < 2; ++i) EXPECT_EQ(group.carrier(0).spawn(here, mayStartAway).join().running, &group.carrier(1));
    busy.release();
    EXPECT_EQ(task.join(), (Place{&group.carrier(0), &group.carrier(0)}));
}

TEST(WorkStealing, AFiberThatMayNotBeStolenWaitsForItsCarrier) {
    CarrierGroup group(stealing(2, microseconds(0)));
    Spinner busy(group.carrier(0));
    auto kept = group.carrier(0).spawn(here, {.stealable = Stealable::never});
    auto taken = group.carrier(0).spawn(here, mayStartAway);
    EXPECT_EQ(taken.join().running, &group.carrier(1));
    busy.release();
    EXPECT_EQ(kept.join().running, &group.carrier(0));
}

// The fibers of one carrier need no lock between two waits, whatever the options of the group.
TEST(WorkStealing, FibersThatAreStartedOnACarrierStayThereUnlessTheCallSaysOtherwise) {
    CarrierGroup group(stealing(2, microseconds(0)));
    Carrier& carrier = group.carrier(0);
    auto parent = carrier.spawn([&] {
        const auto child = [&] { EXPECT_EQ(thisFiber::runningCarrier(), &carrier); };
        FiberSet members;
        JoinSet<void> set;
        TaskScope scope;
        scope.spawn(child);
        scope.spawnOn(carrier, child);
        set.spawn(child);
        carrier.spawnDetached(child, {.name = "detached"});
        carrier.spawnMember(members, child);
        auto joinable = carrier.spawnJoinableMember(members, child);
        auto plain = spawn(child);
        auto ofGroup = group.spawn(child);
        // Queued last: when the other carrier has taken it, it has seen all of these.
        std::atomic<bool> taken{false};
        carrier.spawnDetached([&taken] { taken = true; }, mayStartAway);
        while (!taken) std::this_thread::yield();
        EXPECT_EQ(scope.running(), 2u);
        scope.join();
        while (set.joinNext()) {
        }
        joinable.join();
        plain.join();
        ofGroup.join();
        while (!members.empty()) thisFiber::yield();
    });
    parent.join();
}

TEST(WorkStealing, AFiberWhoseHomeNoCallerHasChosenMayStartElsewhere) {
    CarrierGroup group(stealing(2));
    Spinner busy(group.carrier(0));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(group.spawn(here).join().running, &group.carrier(1));
}

TEST(WorkStealing, NoCarrierStealsWhenStealingIsOff) {
    CarrierOptions options;
    options.carriers = 2;
    options.workStealing = false;
    CarrierGroup group(options);
    Spinner busy(group.carrier(0));
    auto task = group.carrier(0).spawn(here, mayStartAway);
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(group.carrier(1).spawn(here, mayStartAway).join().running, &group.carrier(1));
    busy.release();
    EXPECT_EQ(task.join().running, &group.carrier(0));
    EXPECT_EQ(group.carrier(1).stats().steals, 0u);
}

// ---- pollers ----

TEST(WorkStealing, ACarrierWhosePollerHasNoEventsSteals) {
    CarrierGroup group(stealing(2));
    std::atomic<bool> end{false};
    Future<void> ended = group.carrier(1).registerPinnedPoller([] {},
                                                               [&end](PinnedPoller& poller) {
                                                                   while (!end) poller.maybeYield(false);
                                                               });
    Spinner busy(group.carrier(0));
    EXPECT_EQ(group.carrier(0).spawn(here, mayStartAway).join(), (Place{&group.carrier(1), &group.carrier(0)}));
    EXPECT_EQ(group.carrier(1).stats().calls, 0u);
    end = true;
    ended.get();
}

TEST(WorkStealing, ACarrierWhosePollerHasEventsDoesNotSteal) {
    CarrierGroup group(stealing(2, microseconds(0)));
    std::atomic<int> turns{0};
    std::atomic<bool> end{false};
    Future<void> ended = group.carrier(1).registerPinnedPoller([] {},
                                                               [&](PinnedPoller& poller) {
                                                                   for (; !end; ++turns) poller.maybeYield(true);
                                                               });
    while (turns == 0) std::this_thread::yield();
    Spinner busy(group.carrier(0));
    auto task = group.carrier(0).spawn(here, mayStartAway);
    for (const int seen = turns; turns < seen + 10'000;) std::this_thread::yield();
    EXPECT_FALSE(task.done());
    busy.release();
    EXPECT_EQ(task.join().running, &group.carrier(0));
    end = true;
    ended.get();
}

// ---- Stealable::any ----

TEST(WorkStealing, AFiberThatMayAlwaysBeStolenIsTakenWhenItYields) {
    CarrierGroup group(stealing(2, microseconds(0)));
    std::set<Carrier*> ran;
    std::atomic<bool> both{false};
    auto fiber = group.carrier(0).spawn(
        [&] {
            thisFiber::goHome();  // it may be stolen before it begins, and again whenever it is runnable
            while (ran.size() < 2) {
                ran.insert(thisFiber::runningCarrier());
                thisFiber::yield();
            }
            both = true;
        },
        {.stealable = Stealable::any});
    auto busy = group.carrier(0).spawn(
        [&] {
            while (!both) {
                thisFiber::yield();
                for (int i = 0; i < 1000 && !both; ++i) std::this_thread::yield();
            }
        },
        {.stealable = Stealable::never});
    fiber.join();
    busy.join();
    EXPECT_EQ(ran.size(), 2u);
}

TEST(WorkStealing, ANonMigratingScopeKeepsAFiberAtHome) {
    CarrierGroup group(stealing(2, microseconds(0)));
    Carrier& carrier = group.carrier(0);
    auto fiber = carrier.spawn(
        [&carrier] {
            const NonMigratingScope scope;
            // Runs after this fiber has yielded, until the other carrier has stolen a fiber that was spawned later.
            carrier.spawnDetached(
                [&carrier] {
                    std::atomic<bool> found{false};
                    carrier.spawnDetached([&found] { found = true; }, mayStartAway);
                    while (!found) std::this_thread::yield();
                },
                {.stealable = Stealable::never});
            thisFiber::yield();
            return here();
        },
        {.stealable = Stealable::any});
    EXPECT_EQ(fiber.join(), (Place{&carrier, &carrier}));
}

TEST(WorkStealing, ANonMigratingScopeBringsAGuestHome) {
    CarrierGroup group(stealing(2));
    Spinner busy(group.carrier(0));
    std::atomic<bool> stolen{false};
    auto fiber = group.carrier(0).spawn(
        [&] {
            stolen = thisFiber::runningCarrier() == &group.carrier(1);
            const NonMigratingScope scope;
            return here();
        },
        mayStartAway);
    while (!stolen) std::this_thread::yield();
    busy.release();
    EXPECT_EQ(fiber.join().running, &group.carrier(0));
}

// ---- ends ----

TEST(WorkStealing, TheChildrenOfAScopeMayEndAnywhere) {
    CarrierGroup group(stealing(3, microseconds(0)));
    std::atomic<int> sum{0};
    group.carrier(0)
        .spawn([&] {
            for (int round = 0; round < 50; ++round) {
                TaskScope scope;
                for (int i = 0; i < 20; ++i) scope.spawn([&sum] { ++sum; }, mayStartAway);
                scope.join();
            }
        })
        .join();
    EXPECT_EQ(sum, 1000);
}

TEST(WorkStealing, AShutdownEndsStolenFibers) {
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> ended{0};
        {
            CarrierGroup group(stealing(3, microseconds(0)));
            for (int i = 0; i < 60; ++i) {
                group.carrier(0).spawnDetached(
                    [&ended] {
                        ErrorCode error;
                        thisFiber::sleepFor(std::chrono::hours(1), error);
                        ++ended;
                    },
                    mayStartAway);
            }
        }
        EXPECT_EQ(ended, 60);
    }
}

}  // namespace
}  // namespace weft
