// Cancellation of fibers: which calls it ends, what defers it, and what it leaves alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/fiber_set.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Returns the error that ended the call.
ErrorCode outcome(const std::function<void()>& call) {
    try {
        call();
    } catch (const SystemError& error) {
        return error.code();
    }
    return ErrorCode();
}

// The ways to wait in the scheduler, each for something that never happens.
struct Waits {
    Promise<void> never;
    JoinHandle<void> endless;
    std::vector<std::pair<const char*, std::function<void()>>> all() {
        return {
            {"sleepFor", [] { thisFiber::sleepFor(hours(1)); }},
            {"Future::await", [future = never.future()] { future.await(); }},
            {"Future::awaitUntil", [future = never.future()] { future.awaitFor(hours(1)); }},
            {"JoinHandle::join", [this] { endless.join(); }},
            {"JoinHandle::waitUntil", [this] { endless.waitUntil(Clock::steady().now() + hours(1)); }},
        };
    }
};

TEST(Cancellation, EndsEveryKindOfWaitWithOperationAborted) {
    CarrierGroup group(test::oneCarrier());
    Waits waits;
    waits.endless = group.spawn([future = waits.never.future()] { future.await(); });
    for (const auto& [name, wait] : waits.all()) {
        std::atomic<bool> waiting{false};
        auto fiber = group.spawn([&] {
            waiting = true;
            return outcome(wait);
        });
        while (!waiting) std::this_thread::yield();
        fiber.cancel();
        EXPECT_EQ(fiber.join(), operationAborted()) << name;
    }
    waits.never.setValue();
    waits.endless.join();
}

TEST(Cancellation, BeforeTheWaitEndsItAtOnce) {
    CarrierGroup group(test::oneCarrier());
    Waits waits;
    waits.endless = group.spawn([future = waits.never.future()] { future.await(); });
    for (const auto& [name, wait] : waits.all()) {
        group
            .spawn([&] {
                auto fiber = group.spawn([&] { return outcome(wait); });
                fiber.cancel();  // it has not run yet: there is one carrier
                EXPECT_EQ(fiber.join(), operationAborted()) << name;
            })
            .join();
    }
    waits.never.setValue();
    waits.endless.join();
}

TEST(Cancellation, StaysInForceUntilTheFiberEndsAndDoesNotStarveOthers) {
    CarrierGroup group(test::oneCarrier());
    bool otherRan = false;  // used only by the carrier's thread
    auto stubborn = group.spawn([&] {
        int refused = 0;
        do {
            ErrorCode error;
            thisFiber::sleepFor(hours(1), error);
            refused += error == operationAborted();
        } while (!otherRan);
        return refused;
    });
    stubborn.cancel();
    group.spawn([&] { otherRan = true; }).join();
    EXPECT_GE(stubborn.join(), 1);
}

TEST(Cancellation, DoesNotDiscardAResultThatIsReady) {
    CarrierGroup group(test::oneCarrier());
    Promise<int> promise;
    promise.setValue(7);
    group
        .spawn([&] {
            auto fiber = group.spawn([future = promise.future()] { return future.get(); });
            fiber.cancel();
            EXPECT_EQ(fiber.join(), 7);
        })
        .join();
}

TEST(Cancellation, OfOneThatHasEndedDoesNothing) {
    CarrierGroup group(test::oneCarrier());
    auto fiber = group.spawn([] { return 3; });
    EXPECT_TRUE(fiber.waitUntil(never));
    fiber.cancel();
    EXPECT_EQ(fiber.join(), 3);
}

TEST(Cancellation, CanBeSeenByTheFiber) {
    EXPECT_FALSE(thisFiber::cancelRequested());
    CarrierGroup group(test::oneCarrier());
    std::atomic<bool> begun{false};
    auto busy = group.spawn([&] {
        EXPECT_FALSE(thisFiber::cancelRequested());
        begun = true;
        const CancellationShield shield;
        while (!thisFiber::cancelRequested()) thisFiber::yield();
    });
    while (!begun) std::this_thread::yield();
    busy.cancel();
    busy.join();
}

TEST(CancellationShield, DefersCancellationUntilTheOutermostShieldEnds) {
    CarrierGroup group(test::oneCarrier());
    Promise<void> cancelled;
    Promise<void> open;
    auto fiber = group.spawn([&, gate = open.future(), after = cancelled.future()] {
        std::vector<ErrorCode> seen;
        {
            const CancellationShield outer;
            {
                const CancellationShield inner;
                seen.push_back(outcome([&] { after.await(); }));
            }
            seen.push_back(outcome([&] { gate.await(); }));
        }
        seen.push_back(outcome([] { thisFiber::sleepFor(hours(1)); }));
        return seen;
    });
    fiber.cancel();
    cancelled.setValue();
    open.setValue();
    EXPECT_EQ(fiber.join(), (std::vector<ErrorCode>{ErrorCode(), ErrorCode(), operationAborted()}));
}

TEST(CancellationShield, LetsADestructorWaitWhileACancelledFiberUnwinds) {
    CarrierGroup group(test::oneCarrier());
    struct CleanUp {
        Future<void> finished;
        bool* clean;
        ~CleanUp() {
            const CancellationShield shield;
            finished.await();
            *clean = true;
        }
    };
    Promise<void> promise;
    bool clean = false;
    auto fiber = group.spawn([&, finished = promise.future()] {
        const CleanUp cleanUp{finished, &clean};
        thisFiber::sleepFor(hours(1));
    });
    fiber.cancel();
    group.spawn([&] { promise.setValue(); }).join();
    EXPECT_THROW(fiber.join(), SystemError);
    EXPECT_TRUE(clean);
}

TEST(CancellationShield, DoesNotDeferAShutdown) {
    CarrierGroup group(test::oneCarrier());
    std::atomic<bool> asleep{false};
    auto fiber = group.spawn([&] {
        const CancellationShield shield;
        asleep = true;
        return outcome([] { thisFiber::sleepFor(hours(1)); });
    });
    while (!asleep) std::this_thread::yield();
    EXPECT_TRUE(group.shutdown(std::chrono::seconds(60)));
    EXPECT_EQ(fiber.join(), operationAborted());
}

std::atomic<int> errors{0};

TEST(Cancellation, IsNotLoggedAsAnErrorUnlikeOtherExceptions) {
    errors = 0;
    setLogSink([](LogLevel level, std::string_view) noexcept { errors += level == LogLevel::error; });
    {
        CarrierGroup group(test::oneCarrier());
        FiberSet set;
        group
            .spawn([&] {
                group.carrier(0).spawnDetached([&set] {
                    const FiberSet::Member member(set);
                    thisFiber::sleepFor(hours(1));
                });
                while (set.empty()) thisFiber::yield();
                set.cancel();
                while (!set.empty()) thisFiber::yield();
            })
            .join();
    }
    EXPECT_EQ(errors, 0);
    {
        FiberSet set;  // outlives the group, which runs the fiber to its end
        set.cancel();
        CarrierGroup group(test::oneCarrier());
        group.carrier(0).spawnDetached([&set] {
            const FiberSet::Member member(set);
            throw std::runtime_error("something else");
        });
    }
    setLogSink(nullptr);
    EXPECT_EQ(errors, 1);
}

TEST(FiberSet, CancelsItsMembersAndThoseThatJoinLaterOnly) {
    CarrierGroup group(test::oneCarrier());
    FiberSet set;
    const auto member = [&set] {
        const FiberSet::Member joined(set);
        return outcome([] { thisFiber::sleepFor(hours(1)); });
    };
    auto first = group.spawn(member);
    auto second = group.spawn(member);
    auto outsider = group.spawn([] { return outcome([] { thisFiber::sleepFor(milliseconds(1)); }); });
    auto late = group
                    .spawn([&] {
                        set.cancel();
                        return group.spawn(member);
                    })
                    .join();
    EXPECT_EQ(first.join(), operationAborted());
    EXPECT_EQ(second.join(), operationAborted());
    EXPECT_EQ(late.join(), operationAborted());
    EXPECT_EQ(outsider.join(), ErrorCode());
}

TEST(FiberSet, AFiberSpawnedAsAMemberIsOneBeforeItRuns) {
    CarrierGroup group(test::oneCarrier());
    FiberSet set;
    group
        .spawn([&] {
            Carrier& carrier = *Carrier::current();
            const TimePoint before = Clock::steady().now();
            carrier.spawnMember(set, [] { thisFiber::sleepFor(hours(1)); }, {.name = "member"});
            int members = 0;
            set.forEach([&](std::string_view name, TimePoint since) {
                ++members;
                EXPECT_EQ(name, "member");
                EXPECT_GE(since, before);  // a member that has not begun reports the current time
                EXPECT_LE(since, Clock::steady().now());
            });
            EXPECT_EQ(members, 1);
            set.cancel();
            carrier.spawnMember(set,
                                [] { EXPECT_EQ(outcome([] { thisFiber::sleepFor(hours(1)); }), operationAborted()); });
            while (!set.empty()) thisFiber::yield();
        })
        .join();
}

TEST(FiberSet, AFiberSpawnedFromElsewhereIsAMemberWhenItBegins) {
    CarrierGroup group(test::oneCarrier());
    FiberSet set;
    Promise<bool> member;
    group.carrier(0).spawnMember(set, [&] { member.setValue(!set.empty()); });
    EXPECT_TRUE(member.future().get());
    group.spawn([&] { EXPECT_TRUE(set.empty()); }).join();
}

TEST(FiberSet, AFiberWhoseSpawnIsRefusedIsNoMember) {
    FiberSet set;
    CarrierGroup group(test::oneCarrier());
    auto fiber = group.spawn([&] {
        Carrier& carrier = *Carrier::current();
        while (outcome([] { thisFiber::sleepFor(milliseconds(1)); }) == ErrorCode()) {
        }  // refused: the carrier has acted on the stop request
        EXPECT_THROW(carrier.spawnMember(set, [] {}), SystemError);
        EXPECT_TRUE(set.empty());
    });
    group.beginShutdown();
    fiber.join();
}

TEST(FiberSet, ReportsTheNamesAndStartTimesOfItsMembers) {
    CarrierGroup group(test::oneCarrier());
    FiberSet set;
    Promise<void> open;
    const TimePoint before = Clock::steady().now();
    std::vector<JoinHandle<void>> members;
    for (const char* name : {"warp", "weft"}) {
        members.push_back(group.spawn(
            [&set, gate = open.future()] {
                const FiberSet::Member joined(set);
                gate.await();
            },
            {.name = name}));
    }
    std::vector<std::string> names;
    group
        .spawn([&] {
            const auto size = [&] {
                int count = 0;
                set.forEach([&](std::string_view, TimePoint) { ++count; });
                return count;
            };
            while (size() < 2) thisFiber::yield();
            set.forEach([&](std::string_view name, TimePoint since) {
                names.emplace_back(name);
                EXPECT_GE(since, before);
                EXPECT_LE(since, Clock::steady().now());
            });
        })
        .join();
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"warp", "weft"}));
    open.setValue();
    for (auto& member : members) member.join();
    EXPECT_TRUE(set.empty());
}

}  // namespace
}  // namespace weft
