// Bugs that other projects shipped: the ancestor's (`R` and a commit or change) and Netty's (`Netty` and an issue).
// docs/reference/rules.md describes each and names the tests in other files that cover the rest.
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

#include <weft/testing/leak_guard.hpp>
#include "support/loop_without_io.hpp"
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

struct LoopRegression : test::LeakGuard, test::LoopWithoutIo {};

// Code that runs a continuation inside the call that makes it runnable recurses and bypasses the queue.
TEST_F(LoopRegression, R54ae202_AFiberThatBecomesRunnableIsQueuedAndNeverRunInsideTheCall) {
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
            while (!task) thisFiber::yield();  // the task is on this fiber's stack
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
// a fiber: it waits, and the holder runs and releases the lock.
TEST_F(Regression, R2fe64a3_APollerMayWaitForALockThatOneOfItsFibersHolds) {
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

// All sub-pollers were created on the first loop's carrier.
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

// Schedulers leaked, or refused work, once their loop was closed.
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

// A thread that asked for the pool while another one created it created a second pool and orphaned its threads.
TEST(InstanceRegression, Rf093ab9_ConcurrentFirstCallersGetTheSameDefaultGroup) {
    test::LeakGuard::keeps();  // the default group
    const std::size_t before = test::threadCount();
    std::mutex lock;
    std::set<CarrierGroup*> groups;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            CarrierGroup& group = CarrierGroup::instance();
            // Its carriers ask for the group too.
            CarrierGroup* inside = group.spawn([] { return &CarrierGroup::instance(); }).join();
            std::lock_guard held(lock);
            groups.insert({&group, inside});
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(groups.size(), 1u);
    EXPECT_LE(test::threadCount(), before + CarrierGroup::instance().size() + 8) << "8: joined, but still in /proc";
}

// A factory that was meant to choose an idle carrier always chose the first one, and was not thread-safe.
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
    for (const auto& here : ran) EXPECT_GT(here, 0);  // how many depends on the queues
}

// Spawns by the fibers of a busy carrier were spread over the others.
TEST_F(Regression, R77f5dfd_125_AFibersOwnSpawnsStayOnItsCarrierHoweverBusy) {
    CarrierGroup group(carriers(3));
    group.carrier(1)
        .spawn([&] {
            std::vector<JoinHandle<unsigned>> fibers;
            for (int i = 0; i < 300; ++i) {  // the queue grows meanwhile
                fibers.push_back(i % 2 == 0 ? weft::spawn([] { return thisFiber::carrier()->index(); })
                                            : group.spawn([] { return thisFiber::carrier()->index(); }));
            }
            for (auto& fiber : fibers) EXPECT_EQ(fiber.join(), 1u);
        })
        .join();
}

// Runs the test's code between the loop's last check for work and its announcement of the sleep; then only asks whether
// it might sleep.
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

// The loop slept through a submit or a stop that came just before the sleep: the loop had checked already but did not
// count as asleep, so no thread woke it. EventLoopTest.Netty15922_... tests the same as a race.
TEST_F(Regression, Netty15922_WorkBetweenTheLastCheckAndTheSleepKeepsTheLoopAwake) {
    CarrierGroup group(carriers(1));
    for (const bool stops : {false, true}) {
        EventLoop* target = nullptr;
        std::atomic<bool> ran{false};
        auto handler = std::make_unique<AtTheEdgeOfSleep>([&] {
            std::thread([&] {  // another thread, while the loop is here
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

// A task posted while "woken" was still set sent no wake-up, and the loop did not check again before epoll_wait.
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
// still being delivered, and the eventfd belongs to the carrier for its whole life.
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
                while (!returning) std::this_thread::yield();
                for (int look = 0; published && look < 100; ++look) {  // else registerPinnedPoller() itself wakes
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

// The loop slept while its state was "awake", so no thread woke it and its queue filled up. A wake-up without work must
// not hide the next sleep. Here the queue has no capacity limit.
TEST_F(LoopRegression, Netty10796_ALoopThatWasWokenForNothingIsWokenAgain) {
    for (int i = 0; i < 200; ++i) {
        const auto parks = carrier.spawn([this] { return carrier.stats().parks; }).join();
        while (carrier.stats().parks == parks) std::this_thread::yield();
        carrier.wakeIfParked();
        while (carrier.stats().parks == parks + 1) std::this_thread::yield();  // it sleeps again
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
