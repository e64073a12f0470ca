// Bugs that others have shipped: the ancestor's (by commit or issue, `R...`) and Netty's (`Netty...`). Each has a test
// here, or one elsewhere that would fail with it:
//
//   d007f44, 0240395       tasks and I/O waited for a whole batch of fibers:
//                          FairnessTest.W8_ATaskPostedByALongFiberRunsBeforeTheNextLongFiber,
//                          PollerConformance.BusyFibersLeaveThePollerItsTurns
//   98c93b7                a stop or a submit raced with going to sleep: Netty15922_... below, LoopInboxModel,
//                          PollerConformance.TheShutdownOfItsCarrierEndsIt, TaskConformance.EveryTaskIsSeen
//   f916c25, 2f1fd8d,      a carrier's own fibers wrote its eventfd: PinnedPollerTest.B4_..., B11_...,
//   35f9dcf, 409a16e       TcpStream.SameCarrierWorkNeedsNoWakeUpOfThePoller
//   netty fix, #112        a wake-up counted as an I/O event: BehaviourComposition.R112_AWakeUpIsNoIoEvent (transports)
//   f74423d                left PARKED by load and store: ParkModel.ACarrierThatLeavesByAStoreOverlooksAWake
//   60e7efd                descheduled between tryPark and the system call: PinnedPollerTest.B31_...,
//                          GapConformance.APollerDescheduledInItsGapLosesNothing
//   b8a84bf                an exception between tryPark and unpark: PinnedPollerTest.ABodyThatThrowsWhileParked...
//   netty#9561             no StoreLoad order before epoll_wait: ParkModel.EveryOrderIsNeeded,
//                          LoopInboxModel.EveryOrderIsNeeded
//   101539c, 3559f74       tests of internal state were flaky on one CPU: ours are of outcomes
//
// With work stealing come: 1c5b4bc, 9b1ff74, 2c2d923, and of 35f9dcf that a failed tryPark consumes SEARCHING (that it
// consumes a wake-up is checked at the end of every PollerBench). With topology: 20c610c, 80e826f, the affinity half of
// b8a84bf. With events: a1c12b7. With the io_uring transport: liburing#778, liburing#1062, the overflow of its CQ.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/hosted_loop.hpp"
#include <weft/testing/leak_guard.hpp>
#include "support/sample_pollers.hpp"
#include "support/thread_count.hpp"

namespace weft {
namespace {

using test::ConditionPoller;

struct Regression : test::LeakGuard {
    static CarrierOptions carriers(unsigned count) {
        CarrierOptions options;
        options.carriers = count;
        return options;
    }
};

struct LoopRegression : test::LeakGuard, test::HostedLoop {};

// Who runs a continuation inside the call that makes it runnable recurses, and jumps the queue.
TEST_F(LoopRegression, R54ae202_WhatBecomesRunnableIsQueuedAndNeverRunInsideTheCall) {
    carrier
        .spawn([this] {
            bool ran = false;
            auto child = carrier.spawn([&] { ran = true; });
            EXPECT_FALSE(ran);
            child.join();

            Promise<void> signal;
            bool woken = false;
            auto waiter = carrier.spawn([&, wait = signal.future()] {
                wait.await();
                woken = true;
            });
            thisFiber::yield();  // it waits now
            signal.setValue();
            EXPECT_FALSE(woken);
            waiter.join();

            bool task = false;
            loop.execute([&] { task = true; });
            EXPECT_FALSE(task);
            while (!task) thisFiber::yield();  // it is on this fiber's stack
        })
        .join();
    int depth = 0;
    int deepest = 0;
    int left = 100'000;
    std::function<void()> again = [&] {
        deepest = std::max(deepest, ++depth);
        if (--left > 0) loop.execute([&] { again(); });
        --depth;
    };
    inDispatch([&] { again(); });
    while (true) {
        bool done = false;
        inDispatch([&] { done = left <= 0; });
        if (done) break;
    }
    EXPECT_EQ(deepest, 1);
}

// A loop that runs on the carrier's own stack deadlocks with a lock that one of the carrier's fibers holds. A poller is
// a fiber: it waits, the fiber runs, and releases.
TEST_F(Regression, R2fe64a3_APollerMayWaitForWhatOneOfItsFibersHolds) {
    CarrierGroup group(carriers(1));
    Carrier& carrier = group.carrier(0);
    std::atomic<bool> holds{false};
    Promise<void> released;
    auto release = released.future();
    auto holder = carrier.spawn([&] {
        holds = true;
        thisFiber::sleepFor(std::chrono::milliseconds(1));
        released.setValue();
    });
    while (!holds) std::this_thread::yield();
    carrier.registerPinnedPoller([] {}, [&](PinnedPoller&) { release.await(); }).get();
    holder.join();
}

class OpenedOn final : public IoHandler {
  public:
    void open(Carrier& carrier) override {
        EXPECT_TRUE(carrier.isCurrent());
        openedOn = &carrier;
        idle_.open(carrier);
    }
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override {
        EXPECT_TRUE(openedOn.load()->isCurrent());
        return idle_.poll(guard, deadline, budget);
    }
    void wakeup() noexcept override { idle_.wakeup(); }
    void prepareToClose() override {}
    void close() override {}
    const void* family() const noexcept override { return nullptr; }
    std::atomic<Carrier*> openedOn{nullptr};

  private:
    test::IdleIoHandler idle_;
};

// All sub-pollers were made on the first loop's carrier.
TEST_F(Regression, R15441d4_EachLoopOpensAndPollsItsHandlerOnItsOwnCarrier) {
    CarrierGroup group(carriers(3));
    std::vector<std::unique_ptr<EventLoop>> loops;
    std::vector<Future<void>> ended;
    for (unsigned i = 0; i < 3; ++i) {
        loops.push_back(std::make_unique<EventLoop>(group.carrier(i), std::make_unique<OpenedOn>()));
        ended.push_back(loops.back()->start());
    }
    for (unsigned i = 0; i < 3; ++i) {
        Promise<void> ran;
        auto done = ran.future();
        loops[i]->execute([&] { ran.setValue(); });
        done.await();
        EXPECT_EQ(static_cast<OpenedOn&>(*loops[i]->io()).openedOn, &group.carrier(i));
    }
    for (auto& loop : loops) loop->stop();
    for (auto& end : ended) end.get();
}

// Schedulers were leaked, or refused work, once their loop was closed.
TEST_F(Regression, Rebd531a_33_34_ACarrierTakesWorkAndPollersAfterTheEndOfEachPoller) {
    CarrierGroup group(carriers(1));
    Carrier& carrier = group.carrier(0);
    for (int i = 0; i < 20; ++i) {
        ConditionPoller poller;
        auto ended = poller.start(carrier);
        ASSERT_EQ(carrier.spawn([i] { return i; }).join(), i);
        poller.stop();
        ended.get();
        ASSERT_EQ(carrier.spawn([i] { return -i; }).join(), -i);
    }
}

// A second pool was made by whoever asked while the first was being made, and its threads were orphaned.
TEST(InstanceRegression, Rf093ab9_AllWhoAskAtOnceGetTheOneDefaultGroup) {
    test::LeakGuard::keeps();  // the default group
    const std::size_t before = test::threadCount();
    std::mutex lock;
    std::set<CarrierGroup*> groups;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            CarrierGroup& group = CarrierGroup::instance();
            // Its carriers ask again, from inside.
            CarrierGroup* inside = group.spawn([] { return &CarrierGroup::instance(); }).join();
            std::lock_guard held(lock);
            groups.insert({&group, inside});
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(groups.size(), 1u);
    EXPECT_LE(test::threadCount(), before + CarrierGroup::instance().size() + 8) << "8: joined, but still in /proc";
}

// A factory that was to choose an idle carrier always chose the first, and was not thread-safe.
TEST_F(Regression, R8975541_SpawnsFromOutsideAreSpreadOverAllCarriers) {
    constexpr unsigned count = 4;
    CarrierGroup group(carriers(count));
    std::atomic<int> ran[count]{};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 100; ++i) group.spawn([&] { ran[thisFiber::carrier()->index()].fetch_add(1); }).join();
        });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& here : ran) EXPECT_GT(here, 50);  // in turn, but for queues that are longer just then
}

// Spawns of a busy carrier's own fibers were scattered over the others.
TEST_F(Regression, R77f5dfd_125_AFibersOwnSpawnsStayOnItsCarrierHoweverBusy) {
    CarrierGroup group(carriers(3));
    group.carrier(1)
        .spawn([&] {
            std::vector<JoinHandle<unsigned>> fibers;
            for (int i = 0; i < 300; ++i) {  // behind a queue that grows
                fibers.push_back(i % 2 == 0 ? weft::spawn([] { return thisFiber::carrier()->index(); })
                                            : group.spawn([] { return thisFiber::carrier()->index(); }));
            }
            for (auto& fiber : fibers) EXPECT_EQ(fiber.join(), 1u);
        })
        .join();
}

// Lets a test in between the loop's last look for work and its advertising of sleep, and then only asks whether it
// might have slept.
class AtTheEdgeOfSleep final : public IoHandler {
  public:
    explicit AtTheEdgeOfSleep(std::function<void()> atTheEdge) : atTheEdge_(std::move(atTheEdge)) {}
    void open(Carrier&) override {}
    PollResult poll(PollGuard* guard, Deadline, Budget) override {
        if (guard == nullptr || !atTheEdge_) return {};
        std::exchange(atTheEdge_, nullptr)();
        mightSleep = guard->enter();
        if (mightSleep) guard->leave();
        return {};
    }
    void wakeup() noexcept override {}
    void prepareToClose() override {}
    void close() override {}
    const void* family() const noexcept override { return nullptr; }
    std::atomic<bool> mightSleep{false};

  private:
    std::function<void()> atTheEdge_;
};

// The loop slept on a submit or a stop that came just before: it had looked already, and was not asleep yet, so nobody
// woke it. EventLoopTest.Netty15922_... is the same as a race.
TEST_F(Regression, Netty15922_WhatComesBetweenTheLastLookAndTheSleepKeepsTheLoopAwake) {
    CarrierGroup group(carriers(1));
    for (const bool stops : {false, true}) {
        EventLoop* target = nullptr;
        std::atomic<bool> ran{false};
        auto handler = std::make_unique<AtTheEdgeOfSleep>([&] {
            std::thread([&] {  // another thread, while the loop stands here
                stops ? target->stop() : target->execute([&] { ran = true; });
            })
                .join();
        });
        AtTheEdgeOfSleep& edge = *handler;
        EventLoop loop(group.carrier(0), std::move(handler));
        target = &loop;
        auto ended = loop.start();
        if (!stops) {
            while (!ran) std::this_thread::yield();
            loop.stop();
        }
        ended.get();
        EXPECT_FALSE(edge.mightSleep) << (stops ? "a stop" : "a task");
    }
}

// A task posted while "woken" was still set sent no wake-up, and nobody looked again before epoll_wait.
TEST_F(LoopRegression, Netty5258_ATaskPostedWhileTheLoopIsAwakeRunsBeforeItSleeps) {
    for (int i = 0; i < 200; ++i) {
        std::atomic<bool> dispatching{false};
        std::atomic<bool> posted{false};
        Promise<void> ran;
        auto done = ran.future();
        loop.execute([&] {  // wakes the loop
            dispatching = true;
            while (!posted) std::this_thread::yield();
        });
        while (!dispatching) std::this_thread::yield();
        const int wakeups = io().wakeups;
        loop.execute([&] { ran.setValue(); });
        ASSERT_EQ(io().wakeups, wakeups) << "the loop is awake";
        posted = true;
        ASSERT_TRUE(done.awaitFor(std::chrono::seconds(20)));
    }
}

// 9362, 9476, 9612: the eventfd was written after the loop had closed it. Here the end waits for a wake-up that is
// still being delivered, and the eventfd is the carrier's, for its whole life.
TEST_F(Regression, Netty9362_9476_9612_TheEndOfAPollerWaitsForAWakeUpThatIsStillUnderWay) {
    CarrierGroup group(carriers(1));
    Carrier& carrier = group.carrier(0);
    const std::string eventFd = "/proc/self/fd/" + std::to_string(carrier.wakeFd());
    const auto inode = std::filesystem::read_symlink(eventFd);
    for (int i = 0; i < 20; ++i) {
        std::atomic<bool> parked{false};
        std::atomic<bool> returning{false};
        std::atomic<bool> doneEarly{false};
        Future<void> ended;
        std::atomic<bool> published{false};
        ended = carrier.registerPinnedPoller(
            [&] {  // on the spawning thread, which has ended the sleep
                while (!returning || !published) std::this_thread::yield();
                for (int look = 0; look < 100; ++look) {
                    doneEarly = doneEarly || ended.done();
                    std::this_thread::yield();
                }
                carrier.writeWakeFd();
            },
            [&](PinnedPoller& poller) {
                while (!poller.tryParkPoller()) poller.maybeYield(false);
                parked = true;
                while (poller.canParkPoller()) std::this_thread::yield();  // until a waker has ended the sleep
                poller.unpark();
                returning = true;
            });
        published = true;
        while (!parked) std::this_thread::yield();
        auto fiber = carrier.spawn([] {});
        ended.get();
        fiber.join();
        EXPECT_FALSE(doneEarly);
        EXPECT_EQ(std::filesystem::read_symlink(eventFd), inode);
    }
}

// The loop slept while its state said "awake", so nobody woke it and its queue ran full. A wake-up that brings no work
// must leave nothing behind that hides the next sleep; and the queue has no end that it could reach.
TEST_F(LoopRegression, Netty10796_ALoopThatWasWokenForNothingIsWokenAgain) {
    for (int i = 0; i < 200; ++i) {
        const auto parks = carrier.spawn([this] { return carrier.stats().parks; }).join();
        while (carrier.stats().parks == parks) std::this_thread::yield();
        carrier.wakeIfParked();
        while (carrier.stats().parks == parks + 1) std::this_thread::yield();  // it sleeps anew
        Promise<void> ran;
        auto done = ran.future();
        loop.execute([&] { ran.setValue(); });
        ASSERT_TRUE(done.awaitFor(std::chrono::seconds(20)));
    }
    std::atomic<bool> go{false};
    loop.execute([&] {
        while (!go) std::this_thread::yield();
    });
    int ran = 0;
    for (int i = 0; i < 50'000; ++i) loop.execute([&] { ++ran; });
    go = true;
    inDispatch([&] { EXPECT_EQ(ran, 50'000); });
}

}  // namespace
}  // namespace weft
