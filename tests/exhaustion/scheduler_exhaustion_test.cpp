// Each allocation of a scenario fails once. The scenario may throw the documented exceptions; nothing may crash, hang
// or leak, and whatever was not refused works.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <weft/scheduler/this_fiber.hpp>

#include "exhaustion/exhaustion_test.hpp"
#include "support/loop_without_io.hpp"

namespace weft::exhaustion {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

class SchedulerExhaustion : public ExhaustionTest {};

TEST_F(SchedulerExhaustion, AGroupThatCannotBeMadeLeavesNothingBehind) {
    sweep(6, [] {
        CarrierOptions options;
        options.carriers = 2;
        CarrierGroup group(options);
    });
}

// Needs a new group each time: one that has run fibers keeps their stacks and spawns without an allocation.
TEST_F(SchedulerExhaustion, SpawnAndJoinFailCleanlyOrWork) {
    sweep(15, [&] {
        CarrierGroup group(test::oneCarrier());
        std::vector<JoinHandle<int>> handles;
        handles.reserve(4);
        for (int i = 0; i < 4; ++i) {
            handles.push_back(group.spawn(
                [i] {
                    thisFiber::yield();
                    return i;
                },
                {.name = "a fiber with a name that is long"}));
        }
        for (int i = 0; i < 4; ++i) EXPECT_EQ(handles[static_cast<std::size_t>(i)].join(), i);
    });
}

TEST_F(SchedulerExhaustion, AnEventLoopThatCannotBeMadeOrStartedLeavesTheSlotFree) {
    CarrierGroup group(test::oneCarrier());
    const auto scenario = [&] {
        EventLoop loop(group.carrier(0), std::make_unique<test::IdleIoHandler>());
        Future<void> ended = loop.start();
        loop.stop();
        ended.await();
    };
    sweep(3, scenario);
    scenario();
}

// A refused registration requests one more turn from the carrier. The request must not keep the carrier awake for ever.
TEST_F(SchedulerExhaustion, APollerThatCannotBeRegisteredDoesNotKeepTheCarrierAwake) {
    CarrierGroup group(test::oneCarrier());
    Carrier& carrier = group.carrier(0);
    const auto hostsAPollerThatSleeps = [&] {
        bool slept = false;
        carrier
            .registerPinnedPoller([] {},
                                  [&](PinnedPoller& poller) {
                                      for (int turn = 0; turn < 100 && !slept; ++turn) {
                                          slept = poller.tryParkPoller();
                                          poller.unpark();
                                          poller.maybeYield(false);
                                      }
                                  })
            .await();
        return slept;
    };
    EXPECT_TRUE(hostsAPollerThatSleeps());
    sweep(1, [&] { carrier.registerPinnedPoller([] {}, [](PinnedPoller&) {}).await(); });
    EXPECT_TRUE(hostsAPollerThatSleeps()) << "the carrier finds work that nobody does";
}

// A loop keeps the nodes of closures that it has run, up to a limit; this reaches the limit.
void fillKeptNodes(test::LoopWithoutIo& host) {
    for (int i = 0; i < 1000; ++i) host.loop.execute([] {});
    host.inDispatch([] {});
}

TEST_F(SchedulerExhaustion, ATaskIsRefusedOrRuns) {
    test::LoopWithoutIo host;
    fillKeptNodes(host);
    sweep(2, [&] {
        Promise<void> done;
        const Future<void> ran = done.future();
        host.loop.execute([done = std::move(done)]() mutable { done.setValue(); });
        ran.await();
    });
    sweep(1, [&] { host.inDispatch([&] { host.loop.execute([] {}); }); });
}

TEST_F(SchedulerExhaustion, ATimedTaskIsRefusedOrFires) {
    test::LoopWithoutIo host;
    fillKeptNodes(host);
    sweep(2, [&] {
        Promise<void> done;
        const Future<void> ran = done.future();
        const ScheduledTask task =
            host.loop.schedule([done = std::move(done)]() mutable { done.setValue(); }, microseconds(1));
        ran.await();
    });
    sweep(2, [&] {
        // Without memory to notify the loop, a cancelled task is released when it would have been due.
        ScheduledTask task = host.loop.schedule([] {}, milliseconds(1));
        task.cancel();
        host.inFiber([] {});
        host.inDispatch([] {});
    });
}

TEST_F(SchedulerExhaustion, APromiseCompletesItsWaitersAndListeners) {
    CarrierGroup group(test::oneCarrier());
    sweep(1, [&] {
        std::optional<Promise<int>> promise(std::in_place);
        const Future<int> future = promise->future();
        auto waiting = group.spawn([future] { return future.get(); });
        int listened = 0;
        std::exception_ptr refusal;
        try {
            future.addListener([&](const Future<int>& done) { listened += done.error() == nullptr ? 1 : 100; });
        } catch (const std::bad_alloc&) {
            refusal = std::current_exception();
        }
        promise->setValue(5);
        EXPECT_EQ(waiting.join(), 5);
        EXPECT_EQ(listened, refusal ? 0 : 1);
    });
    // An abandoned promise always completes its future.
    sweep(2, [&] {
        std::optional<Promise<int>> promise(std::in_place);
        const Future<int> future = promise->future();
        promise.reset();
        EXPECT_TRUE(future.done());
        EXPECT_NE(future.error(), nullptr);
    });
}

TEST_F(SchedulerExhaustion, AFiberThatThrowsIsJoinedOrReported) {
    CarrierGroup group(test::oneCarrier());
    sweep(2, [&] {
        auto thrower =
            group.spawn([]() -> int { throw std::runtime_error("a text that no small buffer holds, and more"); });
        EXPECT_THROW(thrower.join(), std::exception);
        group.spawn([] { throw std::runtime_error("nobody joins this one"); }).detach();
        group.spawn([] {}).join();
    });
}

TEST_F(SchedulerExhaustion, AShutdownCompletesWithoutMemory) {
    sweep(15, [] {
        CarrierGroup group(test::oneCarrier());
        auto asleep = group.spawn([] {
            ErrorCode error;
            thisFiber::sleepFor(hours(1), error);
            return error == operationAborted();
        });
        EXPECT_TRUE(group.shutdown(std::chrono::minutes(1)));
        EXPECT_TRUE(asleep.join());
    });
}

}  // namespace
}  // namespace weft::exhaustion
