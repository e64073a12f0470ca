// Hosted pollers: the slot of a carrier, the end of a poller's body, and its future. A name with BEH tests a behaviour
// that the ancestor's tests require; docs/reference/rules.md lists them with their tests.
#include <weft/scheduler/carrier.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/future.hpp>

#include "scheduler/pinned_poller_bench.hpp"
#include "support/log_capture.hpp"
#include "support/loop_without_io.hpp"
#include "support/sample_pollers.hpp"

namespace weft {
namespace {

using test::ConditionPoller;
using test::PinnedPollerTest;

TEST_F(PinnedPollerTest, BEH18_ASecondRegistrationIsRefusedAndTheSlotIsFreeAfterTheEnd) {
    ConditionPoller first;
    auto ended = first.start(carrier);
    ConditionPoller second;
    try {
        second.start(carrier);
        ADD_FAILURE();
    } catch (const std::logic_error& error) {
        EXPECT_NE(std::string(error.what()).find(carrier.name()), std::string::npos) << error.what();
    }
    first.stop();
    ended.get();
    auto endedAgain = second.start(carrier);
    second.stop();
    endedAgain.get();
}

TEST_F(PinnedPollerTest, BEH15_ThePollerSlotIsFreeAfterTheLoopHasEnded) {
    for (int i = 0; i < 3; ++i) {
        EventLoop loop(carrier, std::make_unique<test::IdleIoHandler>());
        auto ended = loop.start();
        EXPECT_THROW(carrier.registerPinnedPoller([] {}, [](PinnedPoller&) {}), std::logic_error);
        Promise<bool> ran;
        auto here = ran.future();
        loop.execute([&] { ran.setValue(EventLoop::of(carrier) == &loop); });
        EXPECT_TRUE(here.get());
        loop.stop();
        ended.get();
        EXPECT_EQ(carrier.spawn([this] { return EventLoop::of(carrier); }).join(), nullptr);
    }
    carrier.registerPinnedPoller([] {}, [](PinnedPoller&) {}).get();
}

template <class Register>
ErrorCode refusal(Register doRegister) {
    try {
        doRegister();
    } catch (const SystemError& error) {
        return error.code();
    }
    return {};
}

TEST_F(PinnedPollerTest, ACarrierThatShutsDownTakesNoPollerAndNoLoop) {
    std::atomic<bool> requested{false};
    auto fiber = carrier.spawn([&] {
        while (!requested) std::this_thread::yield();
        EXPECT_EQ(refusal([&] { carrier.registerPinnedPoller([] {}, [](PinnedPoller&) {}); }), operationAborted());
        EventLoop loop(carrier, std::make_unique<test::IdleIoHandler>());
        EXPECT_EQ(refusal([&] { loop.start(); }), operationAborted());
    });
    group.beginShutdown();
    requested = true;
    fiber.join();
    EXPECT_EQ(refusal([&] { carrier.registerPinnedPoller([] {}, [](PinnedPoller&) {}); }), operationAborted());
}

TEST_F(PinnedPollerTest, AListenerThatRegistersThePollerAgainDoesNotDelayTheShutdown) {
    struct Again {
        Carrier& carrier;
        int accepted = 0;
        int refused = 0;
        void start() {
            if (accepted == 100) return;  // a carrier that would accept it for ever
            const ErrorCode error = refusal([this] {
                carrier
                    .registerPinnedPoller([] {},
                                          [](PinnedPoller& poller) {
                                              while (!poller.stopRequested()) poller.maybeYield(false);
                                          })
                    .addListener([this](const Future<void>&) { start(); });
                ++accepted;
            });
            if (error) ++refused;
        }
    } again{carrier};
    again.start();
    while (!group.shutdown(std::chrono::minutes(1))) {
    }
    EXPECT_EQ(again.accepted, 1);
    EXPECT_EQ(again.refused, 1);
}

TEST_F(PinnedPollerTest, BEH16_TheFutureCompletesWhenTheBodyHasReturnedAndNotBefore) {
    Promise<void> leave;
    std::atomic<bool> returned{false};
    std::atomic<bool> completedEarly{false};
    auto ended = carrier.registerPinnedPoller([] {},
                                              [&](PinnedPoller&) {
                                                  leave.future().await();
                                                  returned = true;
                                              });
    std::atomic<bool> told{false};
    ended.addListener([&](const Future<void>&) {
        completedEarly = !returned;
        told = true;
    });
    carrier.spawn([] {}).join();
    EXPECT_FALSE(ended.done());
    leave.setValue();
    ended.get();
    while (!told) std::this_thread::yield();
    EXPECT_FALSE(completedEarly);
}

TEST_F(PinnedPollerTest, BEH17_TheFutureCarriesTheErrorOfTheBodyAndTheSlotIsFree) {
    const test::LogCapture log;
    auto ended = carrier.registerPinnedPoller([] {}, [](PinnedPoller&) { throw std::runtime_error("unravelled"); });
    EXPECT_THROW(ended.get(), std::runtime_error);
    EXPECT_EQ(log.count("the poller of carrier", carrier.name(), "unravelled"), 1) << log.text();
    carrier.registerPinnedPoller([] {}, [](PinnedPoller&) {}).get();
    EXPECT_EQ(carrier.spawn([] { return 1; }).join(), 1);
}

TEST_F(PinnedPollerTest, ABodyThatThrowsWhileParkedLeavesARunningCarrier) {
    const test::LogCapture log;
    for (const bool woken : {false, true}) {  // before and after a waker has ended the sleep
        std::atomic<bool> parked{false};
        std::atomic<int> wakeups{0};
        auto ended = carrier.registerPinnedPoller([&] { wakeups.fetch_add(1); },
                                                  [&](PinnedPoller& poller) {
                                                      while (!poller.tryParkPoller()) poller.maybeYield(false);
                                                      parked = true;
                                                      while (woken && poller.canParkPoller()) std::this_thread::yield();
                                                      throw std::runtime_error("asleep");
                                                  });
        while (!parked) std::this_thread::yield();
        EXPECT_EQ(carrier.spawn([] { return 1; }).join(), 1);
        EXPECT_THROW(ended.get(), std::runtime_error);
        EXPECT_LE(wakeups, 1);
        EXPECT_EQ(carrier.spawn([] { return 1; }).join(), 1);
    }
}

TEST_F(PinnedPollerTest, ReRegistrationManyTimesAgainstASpawningThreadLosesNoWake) {
    std::atomic<bool> done{false};
    std::atomic<int> ran{0};
    std::thread spawner([&] {
        for (int i = 0; i < 5000; ++i) carrier.spawn([&] { ran.fetch_add(1); }).join();
        done = true;
    });
    int registrations = 0;
    while (!done) {
        auto poller = std::make_unique<ConditionPoller>();  // freed as soon as the future has completed (SCH-10)
        auto ended = poller->start(carrier);
        poller->stop();
        ended.get();
        ++registrations;
    }
    spawner.join();
    EXPECT_EQ(ran, 5000);
    EXPECT_GT(registrations, 0);
}

}  // namespace
}  // namespace weft
