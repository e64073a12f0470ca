// Hosted pollers: the slot, the protocol, the end; and EventLoop, which is one.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace weft {
namespace {

CarrierOptions one() {
    CarrierOptions options;
    options.carriers = 1;
    return options;
}

// A poller that blocks on a condition variable; the flag makes its wake-up sticky.
struct BlockingPoller {
    std::atomic<bool> stop{false};
    std::atomic<int> blocked{0};
    std::atomic<int> wakeups{0};
    std::mutex lock;
    std::condition_variable signal;
    bool pending = false;

    void wakeup() {
        wakeups.fetch_add(1);
        std::lock_guard held(lock);
        pending = true;
        signal.notify_one();
    }
    void block(Deadline deadline) {
        std::unique_lock held(lock);
        blocked.fetch_add(1);
        const auto woken = [&] { return pending; };
        if (deadline == never) {
            signal.wait(held, woken);
        } else {
            signal.wait_until(held, deadline, woken);
        }
        pending = false;
    }
    void run(PinnedPoller& poller) {
        while (!stop && !poller.stopRequested()) {
            if (poller.tryParkPoller()) {
                if (poller.canParkPoller()) block(poller.parkDeadline());
                poller.unpark();
            }
            poller.maybeYield(false);
        }
    }
    Future<void> registerWith(Carrier& carrier) {
        return carrier.registerPinnedPoller([this] { wakeup(); }, [this](PinnedPoller& poller) { run(poller); });
    }
};

TEST(PinnedPoller, ASecondRegistrationIsRefusedAndTheSlotIsFreeAfterTheEnd) {
    CarrierGroup group(one());
    Carrier& carrier = group.carrier(0);
    BlockingPoller first;
    auto ended = first.registerWith(carrier);
    BlockingPoller second;
    EXPECT_THROW(second.registerWith(carrier), std::logic_error);
    first.stop = true;
    carrier.spawn([] {}).join();
    ended.get();
    auto endedAgain = second.registerWith(carrier);
    second.stop = true;
    carrier.spawn([] {}).join();
    endedAgain.get();
}

TEST(PinnedPoller, TheFutureCarriesTheErrorOfTheBodyAndTheSlotIsFree) {
    CarrierGroup group(one());
    Carrier& carrier = group.carrier(0);
    auto ended = carrier.registerPinnedPoller([] {}, [](PinnedPoller&) { throw std::runtime_error("unravelled"); });
    EXPECT_THROW(ended.get(), std::runtime_error);
    carrier.registerPinnedPoller([] {}, [](PinnedPoller&) {}).get();
    EXPECT_EQ(carrier.spawn([] { return 1; }).join(), 1);
}

TEST(PinnedPoller, ABodyThatThrowsWhileParkedLeavesARunningCarrier) {
    CarrierGroup group(one());
    Carrier& carrier = group.carrier(0);
    auto ended = carrier.registerPinnedPoller([] {},
                                              [](PinnedPoller& poller) {
                                                  while (!poller.tryParkPoller()) poller.maybeYield(false);
                                                  throw std::runtime_error("asleep");
                                              });
    EXPECT_THROW(ended.get(), std::runtime_error);
    EXPECT_EQ(carrier.spawn([] { return 1; }).join(), 1);
}

TEST(PinnedPoller, EverySpawnReachesACarrierThatSleepsInItsPoller) {
    CarrierGroup group(one());
    BlockingPoller poller;
    auto ended = poller.registerWith(group.carrier(0));
    group.carrier(0).spawn([] {}).join();
    const auto futexWakesBefore = group.carrier(0).stats().wakesFutex;  // before the poller was there
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(group.carrier(0).spawn([i] { return i; }).join(), i);
    EXPECT_GT(poller.blocked, 0);
    EXPECT_LE(poller.wakeups, poller.blocked.load() + 2000);
    ASSERT_TRUE(group.shutdown(std::chrono::seconds(10)));
    ended.get();
    EXPECT_EQ(group.carrier(0).stats().wakesFutex, futexWakesBefore);
    EXPECT_EQ(group.carrier(0).stats().wakesPoller, static_cast<std::uint64_t>(poller.wakeups.load()));
}

TEST(PinnedPoller, FibersSleepingOnTheCarrierAreWokenThroughParkDeadline) {
    CarrierGroup group(one());
    BlockingPoller poller;
    auto ended = poller.registerWith(group.carrier(0));
    group.carrier(0).spawn([] { thisFiber::sleepFor(std::chrono::milliseconds(5)); }).join();
    ASSERT_TRUE(group.shutdown(std::chrono::seconds(10)));
    EXPECT_EQ(group.carrier(0).stats().timersFired, 1u);
}

// Behaviour 31: between tryParkPoller() and the blocking call the poller parks on something else; the carrier takes
// PARKED back, work submitted meanwhile runs, and canParkPoller() says no afterwards.
TEST(PinnedPoller, APollerDescheduledBetweenTryParkAndTheBlockingCallLosesNothing) {
    CarrierGroup group(one());
    Carrier& carrier = group.carrier(0);
    Promise<void> latch;
    std::atomic<bool> parked{false};
    std::atomic<bool> couldPark{true};
    auto ended = carrier.registerPinnedPoller([] {},
                                              [&](PinnedPoller& poller) {
                                                  while (!poller.tryParkPoller()) poller.maybeYield(false);
                                                  parked = true;
                                                  latch.future().await();
                                                  couldPark = poller.canParkPoller();
                                                  poller.unpark();
                                              });
    while (!parked) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) ASSERT_EQ(carrier.spawn([i] { return i; }).join(), i);
    latch.setValue();
    ended.get();
    EXPECT_FALSE(couldPark);
    EXPECT_GT(carrier.stats().wakesFutex, 0u);  // it slept in the futex meanwhile, as a carrier without a poller does
}

TEST(PinnedPoller, ReRegistrationManyTimesAgainstASpawningThreadLosesNoWake) {
    CarrierGroup group(one());
    Carrier& carrier = group.carrier(0);
    std::atomic<bool> done{false};
    std::atomic<int> ran{0};
    std::thread spawner([&] {
        for (int i = 0; i < 5000; ++i) carrier.spawn([&] { ran.fetch_add(1); }).join();
        done = true;
    });
    int registrations = 0;
    while (!done) {
        auto poller = std::make_unique<BlockingPoller>();  // freed as soon as the future says so (W10)
        auto ended = poller->registerWith(carrier);
        poller->stop = true;
        carrier.spawn([] {}).join();
        ended.get();
        ++registrations;
    }
    spawner.join();
    EXPECT_EQ(ran, 5000);
    EXPECT_GT(registrations, 0);
}

// An IoHandler without I/O: it blocks on a condition variable.
class WakeOnlyHandler final : public IoHandler {
  public:
    void open(Carrier& carrier) override { carrier_ = &carrier; }
    PollResult poll(PollGuard* guard, Deadline deadline, Budget) override {
        if (guard == nullptr || !guard->enter()) return {};
        std::unique_lock held(lock_);
        const auto woken = [&] { return pending_; };
        deadline == never ? signal_.wait(held, woken) : static_cast<void>(signal_.wait_until(held, deadline, woken));
        pending_ = false;
        guard->leave();
        return {};
    }
    void wakeup() noexcept override {
        std::lock_guard held(lock_);
        pending_ = true;
        signal_.notify_one();
    }
    void prepareToClose() override {}
    void close() override {}
    const void* family() const noexcept override { return nullptr; }

  private:
    Carrier* carrier_ = nullptr;
    std::mutex lock_;
    std::condition_variable signal_;
    bool pending_ = false;
};

struct HostedLoop : testing::Test {
    CarrierGroup group{one()};
    Carrier& carrier = group.carrier(0);
    EventLoop loop{carrier, std::make_unique<WakeOnlyHandler>()};
    Future<void> ended = loop.start();

    ~HostedLoop() override {
        loop.stop();
        ended.get();
    }
    // Runs `task` in the loop and waits for it.
    template <class F>
    void inLoop(F task) {
        Promise<void> done;
        auto future = done.future();
        loop.execute([task = std::move(task), done = std::move(done)]() mutable {
            task();
            done.setValue();
        });
        future.get();
    }
};

using EventLoopTest = HostedLoop;

TEST_F(EventLoopTest, L1_TasksOfAThreadRunInItsOrderWhetherTheLoopSleepsOrNot) {
    std::vector<int> order;
    for (int i = 0; i < 5000; ++i) loop.execute([&order, i] { order.push_back(i); });
    inLoop([] {});
    ASSERT_EQ(order.size(), 5000u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(EventLoopTest, L1_ASubmitThatRacesWithGoingToSleepIsNeverLost) {
    for (int i = 0; i < 5000; ++i) inLoop([] {});
}

TEST_F(EventLoopTest, L1_AWakeUpIsSentOncePerSleepAtMost) {
    for (int i = 0; i < 1000; ++i) inLoop([] {});
    loop.stop();
    ended.get();
    const CarrierStats stats = carrier.stats();
    EXPECT_LE(stats.wakesPoller, stats.parks);
}

TEST_F(EventLoopTest, E5_ATaskThatThrowsDoesNotEndTheLoop) {
    setLogSink([](LogLevel, std::string_view) noexcept {});
    loop.execute([] { throw std::runtime_error("a task"); });
    inLoop([] {});
    setLogSink(nullptr);
}

TEST_F(EventLoopTest, DispatchIsNonSuspendingAndAFiberSpawnedThereMayBlock) {
    bool threw = false;
    Promise<int> answer;
    auto future = answer.future();
    inLoop([&] {
        EXPECT_TRUE(loop.inEventLoop());
        EXPECT_EQ(EventLoop::current(), &loop);
        try {
            thisFiber::sleepFor(std::chrono::milliseconds(1));
        } catch (const BlockingOperationException&) {
            threw = true;
        }
        carrier.spawnDetached([&, answer = std::move(answer)]() mutable {
            EXPECT_TRUE(loop.inEventLoop());  // by carrier identity
            thisFiber::sleepFor(std::chrono::milliseconds(1));
            answer.setValue(7);
        });
    });
    EXPECT_EQ(future.get(), 7);
    EXPECT_TRUE(threw);
    EXPECT_FALSE(loop.inEventLoop());
}

TEST_F(EventLoopTest, L2_TimersRunInOrderOfDeadlineAndEqualOnesInOrderOfSubmission) {
    std::vector<int> order;
    Promise<void> last;
    auto future = last.future();
    inLoop([&] {
        const auto later = std::chrono::milliseconds(4);
        loop.schedule([&, last = std::move(last)]() mutable { last.setValue(); }, std::chrono::milliseconds(8));
        loop.schedule([&] { order.push_back(2); }, later);
        loop.schedule([&] { order.push_back(1); }, std::chrono::milliseconds(1));
    });
    future.get();
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(EventLoopTest, L2_ACancelledTimerDoesNotRunWhoeverCancels) {
    std::atomic<int> ran{0};
    auto task = loop.schedule([&] { ran.fetch_add(1); }, std::chrono::hours(1));
    EXPECT_FALSE(task.done());
    EXPECT_TRUE(task.cancel());
    EXPECT_FALSE(task.cancel());
    EXPECT_TRUE(task.done());
    inLoop([&] {
        auto inner = loop.schedule([&] { ran.fetch_add(1); }, Duration::zero());
        EXPECT_TRUE(inner.cancel());
        EXPECT_TRUE(carrier.timers().empty());
    });
    inLoop([] {});
    EXPECT_EQ(ran, 0);
}

TEST_F(EventLoopTest, L2_ACancelledTimerLetsGoOfItsTask) {
    auto held = std::make_shared<int>(1);
    auto remote = loop.schedule([held] {}, std::chrono::hours(1));
    inLoop([&] {
        auto local = loop.schedule([held] {}, std::chrono::hours(1));
        local.cancel();
    });
    remote.cancel();
    inLoop([] {});
    EXPECT_EQ(held.use_count(), 1);
}

TEST_F(EventLoopTest, L2_APeriodicTaskRunsUntilItIsCancelled) {
    std::atomic<int> ran{0};
    auto task = loop.scheduleAtFixedRate([&] { ran.fetch_add(1); }, Duration::zero(), std::chrono::microseconds(100));
    while (ran < 5) std::this_thread::yield();
    EXPECT_TRUE(task.cancel());
    inLoop([] {});
    const int after = ran;
    inLoop([&] { EXPECT_TRUE(carrier.timers().empty()); });
    EXPECT_EQ(ran, after);
    EXPECT_THROW(loop.scheduleAtFixedRate([] {}, Duration::zero(), Duration::zero()), std::invalid_argument);
}

TEST_F(EventLoopTest, ExecuteAfterTheEndIsRefused) {
    loop.stop();
    ended.get();
    EXPECT_THROW(loop.execute([] {}), SystemError);
    EXPECT_THROW(loop.schedule([] {}, Duration::zero()), SystemError);
}

TEST_F(EventLoopTest, Netty15922_AStopThatRacesWithGoingToSleepEndsTheLoop) {
    loop.stop();
    ended.get();
    for (int i = 0; i < 500; ++i) {
        EventLoop again(carrier, std::make_unique<WakeOnlyHandler>());
        auto end = again.start();
        again.stop();
        end.get();
    }
}

TEST(EmbeddedLoop, RunsTasksAndTimersByHand) {
    ManualClock clock;
    EventLoop loop(clock);
    std::vector<int> order;
    loop.execute([&] { order.push_back(1); });
    loop.schedule([&] { order.push_back(3); }, std::chrono::seconds(1));
    loop.execute([&] { order.push_back(2); });
    EXPECT_EQ(loop.runTasks(), 2u);
    clock.advance(std::chrono::seconds(2));
    EXPECT_EQ(loop.runTasks(), 1u);
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace weft
