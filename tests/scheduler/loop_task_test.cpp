// Intrusive tasks: they run in one order with closures, once, and may be reused when they run. And bursts: neither half
// a million posts nor twenty thousand timers keep the loop from polling.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/manual_clock.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/log_capture.hpp"
#include "support/loop_without_io.hpp"

namespace weft {
namespace {

struct NumberTask final : LoopTask {
    NumberTask(std::vector<int>& ran, int number) : ran(ran), number(number) {}
    void run() noexcept override { ran.push_back(number); }
    void abandon() noexcept override {}
    std::vector<int>& ran;
    int number;
};

struct LoopTasks : testing::Test, test::LoopWithoutIo {};

TEST_F(LoopTasks, RunInOneOrderWithClosuresOfTheSameCaller) {
    std::vector<int> ran;
    std::vector<std::unique_ptr<NumberTask>> tasks;
    const auto queueAHundred = [&] {
        for (int i = 0; i < 100; ++i) {
            const int number = static_cast<int>(tasks.size());
            tasks.push_back(std::make_unique<NumberTask>(ran, number));
            if (i % 3 == 0) {
                loop.execute([&ran, number] { ran.push_back(number); });
            } else if (i % 3 == 1) {
                EXPECT_TRUE(loop.execute(*tasks.back()));
            } else {
                EXPECT_TRUE(loop.executeLazily(*tasks.back()));
            }
        }
    };
    queueAHundred();            // from another thread
    inDispatch(queueAHundred);  // from the loop itself
    inFiber(queueAHundred);     // from a fiber of its carrier
    inDispatch([] {});
    ASSERT_EQ(ran.size(), 300u);
    EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

TEST_F(LoopTasks, MayBeExecutedAgainFromInsideTheirRun) {
    struct Chain final : LoopTask {
        explicit Chain(EventLoop& loop) : loop(loop) {}
        void run() noexcept override {
            if (++runs < 1000) {
                EXPECT_TRUE(loop.execute(*this));
            } else {
                done.setValue();
            }
        }
        void abandon() noexcept override {}
        EventLoop& loop;
        int runs = 0;
        Promise<void> done;
    } chain(loop);
    auto done = chain.done.future();
    EXPECT_TRUE(loop.execute(chain));
    done.await();
    EXPECT_EQ(chain.runs, 1000);
}

TEST_F(LoopTasks, MayDestroyThemselves) {
    struct Once final : LoopTask {
        explicit Once(Promise<void> done) : done(std::move(done)) {}
        void run() noexcept override {
            done.setValue();
            delete this;
        }
        void abandon() noexcept override { delete this; }
        Promise<void> done;
    };
    for (int i = 0; i < 100; ++i) {
        Promise<void> promise;
        auto done = promise.future();
        auto task = std::make_unique<Once>(std::move(promise));
        if (loop.execute(*task)) static_cast<void>(task.release());
        done.get();
    }
}

TEST(EmbeddedLoop, RunsLoopTasksAndAbandonsThoseLeftInItAtItsEnd) {
    std::vector<int> ran;
    struct Abandoned final : LoopTask {
        void run() noexcept override {}
        void abandon() noexcept override { ++times; }
        int times = 0;
    } left;
    NumberTask first(ran, 1);
    {
        ManualClock clock;
        EventLoop loop(clock);
        EXPECT_TRUE(loop.execute(first));
        std::thread([&] { EXPECT_TRUE(loop.execute(left)); }).join();
        loop.execute([&] { ran.push_back(2); });
        ManualClock other;
        EventLoop driven(other);
        EXPECT_EQ(driven.runTasks(), 0u);
        EXPECT_TRUE(ran.empty());
    }
    EXPECT_EQ(left.times, 1);
    EXPECT_TRUE(ran.empty());
}

// Counts the tasks between two polls.
class CountingPolls final : public IoHandler {
  public:
    void open(Carrier&) override {}
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override {
        most = std::max(most, std::exchange(since, 0));
        return idle_.poll(guard, deadline, budget);
    }
    void wakeup() noexcept override { idle_.wakeup(); }
    void prepareToClose() override {}
    void close() override {}
    const void* family() const noexcept override { return nullptr; }

    int since = 0;
    int most = 0;

  private:
    test::IdleIoHandler idle_;
};

void spinFor(Duration time) noexcept {
    const TimePoint end = deadlineAfter(time);
    while (Clock::steady().now() < end) {
    }
}

struct Bursts : testing::Test {
    CarrierGroup group{test::oneCarrier()};
    CountingPolls* polls = nullptr;
    EventLoop loop{group.carrier(0), [this] {
                       auto handler = std::make_unique<CountingPolls>();
                       polls = handler.get();
                       return handler;
                   }()};
    Future<void> ended = loop.start();
    ~Bursts() override {
        loop.stop();
        ended.await();
    }
};

// Each takes nearly half the budget, so a hundred of them take many budgets on any machine.
TEST_F(Bursts, ManyTimersDueAtOnceDoNotStarveThePoller) {
    struct SlowTimer final : TimerEntry {
        SlowTimer() : TimerEntry(&SlowTimer::fired) {}
        static void fired(TimerEntry& entry) noexcept {
            auto& timer = static_cast<SlowTimer&>(entry);
            spinFor(std::chrono::microseconds(20));
            ++timer.polls->since;
            if (--*timer.left == 0) timer.done->setValue();
        }
        CountingPolls* polls = nullptr;
        int* left = nullptr;
        Promise<void>* done = nullptr;
    };
    int left = 2000;
    Promise<void> promise;
    auto done = promise.future();
    std::vector<SlowTimer> timers(static_cast<std::size_t>(left));
    loop.execute([&] {
        const TimePoint now = Clock::steady().now();
        for (SlowTimer& timer : timers) {
            timer.polls = polls;
            timer.left = &left;
            timer.done = &promise;
            loop.timers().arm(timer, now);
        }
    });
    done.get();
    loop.stop();
    ended.get();
    EXPECT_LT(polls->most, 500) << "timers that fired between two polls";
}

TEST_F(Bursts, ABurstOfPostsRunsInOrderAndDoesNotStarveThePoller) {
    constexpr int count = 300'000;
    std::atomic<bool> posted{false};
    std::vector<int> ran;
    ran.reserve(count);
    loop.execute([&] {
        while (!posted) std::this_thread::yield();
    });
    std::vector<std::unique_ptr<NumberTask>> tasks;
    for (int i = 0; i < count; ++i) {
        tasks.push_back(std::make_unique<NumberTask>(ran, i));
        ASSERT_TRUE(loop.execute(*tasks.back()));
    }
    Promise<void> promise;
    auto done = promise.future();
    loop.execute([&] { promise.setValue(); });
    posted = true;
    done.get();
    ASSERT_EQ(ran.size(), static_cast<std::size_t>(count));
    EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

// ---- timed tasks ----

TEST_F(LoopTasks, ATimedTaskThatThrowsLetsGoOfWhatItHolds) {
    test::LogCapture log;
    const auto held = std::make_shared<int>();
    const auto throwing = [held] { throw std::runtime_error("a timed task"); };
    auto once = loop.schedule(throwing, Duration::zero());
    auto periodic = loop.scheduleAtFixedRate(throwing, Duration::zero(), std::chrono::hours(1));
    while (!once.done() || !periodic.done()) std::this_thread::yield();
    inDispatch([] {});
    EXPECT_EQ(held.use_count(), 2) << "the handles are still there, and `throwing`, but no copy of it";
}

}  // namespace
}  // namespace weft
