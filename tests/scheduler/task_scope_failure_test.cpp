// TaskScope when something ends early: no child outlives the scope of an interrupted or failing parent; which error of
// which child is thrown, and which is logged.
#include <weft/scheduler/task_scope.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "scheduler/task_scope_bench.hpp"
#include "support/log_capture.hpp"
#include "support/loop_without_io.hpp"

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::errorOf;
using test::twoCarriers;

// A variable of the parent that its children use. It detects a use after its end.
class Local {
  public:
    ~Local() { *alive_ = false; }
    // Makes a blocking call and then, whatever has ended it, uses the parent's variable.
    void useAfterASleep() {
        const auto alive = alive_;
        ErrorCode error;
        thisFiber::sleepFor(hours(1), error);
        EXPECT_TRUE(*alive) << "the child outlives its parent's variables";
        if (error) throw SystemError(error, "the child");
    }

  private:
    std::shared_ptr<std::atomic<bool>> alive_ = std::make_shared<std::atomic<bool>>(true);
};

// The usual fan-out: the children write to the parent's variables. The parent begins one child on each carrier,
// `interrupt(parent)` interrupts its join, and it must await the children.
void expectChildrenAwaited(Carrier& home, const std::vector<Carrier*>& childCarriers,
                           const std::function<void(JoinHandle<void>&)>& interrupt) {
    std::atomic<bool> begun{false};
    auto parent = home.spawn([&] {
        Local local;
        TaskScope scope;
        for (Carrier* carrier : childCarriers) scope.spawnOn(*carrier, [&] { local.useAfterASleep(); });
        begun = true;
        scope.join();
    });
    while (!begun) std::this_thread::yield();
    interrupt(parent);
    EXPECT_EQ(errorOf([&] { parent.join(); }), "aborted");
}

TEST(TaskScope, AParentThatIsCancelledAwaitsItsChildren) {
    CarrierGroup group(twoCarriers());
    for (int round = 0; round < 200; ++round) {
        expectChildrenAwaited(group.carrier(0), {&group.carrier(0), &group.carrier(1)},
                              [](JoinHandle<void>& parent) { parent.cancel(); });
    }
}

TEST(TaskScope, AtAShutdownTheParentAwaitsItsChildren) {
    for (int round = 0; round < 100; ++round) {
        CarrierGroup group(twoCarriers());
        expectChildrenAwaited(group.carrier(0), {&group.carrier(0), &group.carrier(1)},
                              [&](JoinHandle<void>&) { EXPECT_TRUE(group.shutdown(seconds(60))); });
    }
}

// Here the children's carriers continue.
TEST(TaskScope, AParentWhoseGroupShutsDownCancelsChildrenOfAnotherGroup) {
    CarrierGroup children(test::oneCarrier());
    CarrierGroup parents(test::oneCarrier());
    expectChildrenAwaited(parents.carrier(0), {&children.carrier(0)},
                          [&](JoinHandle<void>&) { EXPECT_TRUE(parents.shutdown(seconds(60))); });
}

TEST(TaskScope, AnInterruptedJoinIsThrownAfterTheEndOfTheChildren) {
    CarrierGroup group(test::oneCarrier());
    auto parent = group.spawn([] {
        TaskScope scope;
        scope.spawn([] { thisFiber::sleepFor(hours(1)); });
        const std::string error = errorOf([&] { scope.join(); });
        EXPECT_EQ(scope.running(), 0u) << "the parent may go on to destroy what its children use";
        return error;
    });
    group.spawn([&] { parent.cancel(); }).join();  // the parent is in its join, or will find the request when it joins
    EXPECT_EQ(parent.join(), "aborted");
}

TEST(TaskScope, AnExceptionOfTheParentCancelsAndAwaitsTheChildren) {
    CarrierGroup group(twoCarriers());
    auto parent = group.spawn([&] {
        Local local;
        TaskScope scope;
        scope.spawn([&] { local.useAfterASleep(); });
        scope.spawnOn(group.carrier(1), [&] { local.useAfterASleep(); });
        thisFiber::yield();
        throw std::runtime_error("the parent's");
    });
    EXPECT_EQ(errorOf([&] { parent.join(); }), "the parent's");
}

TEST(TaskScope, AChildThatAnothersFailureCancelledRethrowsThatFailure) {
    CarrierGroup group(test::oneCarrier());
    const test::LogCapture log;
    auto parent = group.spawn([] {
        TaskScope scope;
        auto sleeps = scope.spawn([] {
            thisFiber::sleepFor(hours(1));
            return 1;
        });
        auto fails = scope.spawn([]() -> int { throw std::runtime_error("the disk is full"); });
        return sleeps.get() + fails.get();
    });
    EXPECT_EQ(errorOf([&] { parent.join(); }), "the disk is full");
}

TEST(TaskScope, AFailureThatAnotherExceptionHidesIsLogged) {
    CarrierGroup group(test::oneCarrier());
    const test::LogCapture log;
    auto parent = group.spawn([] {
        TaskScope scope;
        scope.spawn([] { throw std::runtime_error("the child's"); });
        thisFiber::yield();
        throw std::runtime_error("the parent's");
    });
    EXPECT_EQ(errorOf([&] { parent.join(); }), "the parent's");
    EXPECT_EQ(log.countAt(LogLevel::warning, "the child's"), 1);
}

TEST(TaskScope, TheFirstErrorCancelsTheOthersAndIsThrownOnce) {
    CarrierGroup group(test::oneCarrier());
    const test::LogCapture log;
    group
        .spawn([&] {
            std::string other;
            TaskScope scope;
            scope.spawn([&] { other = errorOf([] { thisFiber::sleepFor(hours(1)); }); });
            scope.spawn([] { throw std::runtime_error("the first"); });
            scope.spawn([] { throw std::runtime_error("the second"); }, {.name = "late"});
            EXPECT_EQ(errorOf([&] { scope.join(); }), "the first");
            EXPECT_EQ(other, "aborted");
            EXPECT_EQ(errorOf([&] { scope.join(); }), "");
            // From now on all children are cancelled.
            auto later = scope.spawn([] { thisFiber::sleepFor(hours(1)); });
            EXPECT_EQ(errorOf([&] { scope.join(); }), "") << "a child that was asked to end is no failure";
            EXPECT_EQ(errorOf([&] { later.get(); }), "aborted");
        })
        .join();
    EXPECT_EQ(log.count("fiber 'late' failed after another child of its TaskScope: the second"), 1) << log.text();
}

TEST(TaskScope, WithKeepOthersAnErrorLeavesTheOtherChildrenRunning) {
    CarrierGroup group(test::oneCarrier());
    group
        .spawn([] {
            TaskScope scope(TaskScope::Policy::runAll);
            auto slow = scope.spawn([] {
                thisFiber::sleepFor(milliseconds(1));
                return 7;
            });
            auto failing = scope.spawn([]() -> int { throw std::runtime_error("the first"); });
            EXPECT_EQ(errorOf([&] { scope.join(); }), "the first");
            EXPECT_EQ(slow.get(), 7);
            EXPECT_EQ(errorOf([&] { failing.get(); }), "the first");
        })
        .join();
}

TEST(TaskScope, ACancellationEndsTheChildrenAndIsNoError) {
    CarrierGroup group(test::oneCarrier());
    group
        .spawn([] {
            TaskScope scope;
            scope.spawn([] { thisFiber::sleepFor(hours(1)); });
            auto one = scope.spawn([] { thisFiber::sleepFor(hours(1)); });
            auto other = scope.spawn([] { thisFiber::sleepFor(milliseconds(1)); });
            thisFiber::yield();
            one.cancel();
            EXPECT_EQ(errorOf([&] { one.get(); }), "aborted");
            EXPECT_EQ(errorOf([&] { other.get(); }), "") << "a child that is cancelled alone cancels nobody";
            EXPECT_EQ(scope.running(), 1u);
            scope.cancel();
            scope.cancel();
            scope.join();
        })
        .join();
}

TEST(TaskScope, OfAShieldedParentIsNotInterrupted) {
    CarrierGroup group(test::oneCarrier());
    std::atomic<bool> cancelled{false};
    auto parent = group.spawn([&] {
        const CancellationShield shield;
        TaskScope scope;
        auto child = scope.spawn([&] {
            while (!cancelled) thisFiber::yield();
            thisFiber::sleepFor(milliseconds(1));
            return 5;
        });
        scope.join();
        return child.get();
    });
    parent.cancel();
    cancelled = true;
    EXPECT_EQ(parent.join(), 5);
}

TEST(TaskScope, AnUnjoinedErrorIsLogged) {
    CarrierGroup group(test::oneCarrier());
    const test::LogCapture log;
    group
        .spawn([] {
            TaskScope scope;
            scope.spawn([] { throw std::runtime_error("unseen"); });
            thisFiber::yield();
        })
        .join();
    EXPECT_EQ(log.count("a TaskScope ended without join(); one of its children failed: unseen"), 1) << log.text();
}

TEST(TaskScope, TheShutdownNamesACancelledChildThatRunsOnAndItsParent) {
    const test::LogCapture log;
    CarrierGroup group(test::oneCarrier());
    std::atomic<bool> stop{false};
    std::atomic<bool> begun{false};
    group.carrier(0).spawnDetached(
        [&] {
            TaskScope scope;
            scope.spawn(
                [&] {
                    begun = true;
                    while (!stop) thisFiber::yield();
                },
                {.name = "child"});
            scope.join();
        },
        {.name = "parent"});
    while (!begun) std::this_thread::yield();
    EXPECT_FALSE(group.shutdown(milliseconds(20)));
    EXPECT_TRUE(log.await("fiber 'parent' of carrier", "is in an uninterruptible wait: TaskScope::join")) << log.text();
    EXPECT_TRUE(log.await("fiber 'child' of carrier", "ignores the shutdown")) << log.text();
    stop = true;
    EXPECT_TRUE(group.shutdown(seconds(60)));
}

}  // namespace
}  // namespace weft
