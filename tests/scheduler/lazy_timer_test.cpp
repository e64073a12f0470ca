// LazyTimer: its waits end at their deadlines although it stays armed between them.
#include <weft/scheduler/detail/lazy_timer.hpp>

#include <chrono>
#include <deque>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include <weft/scheduler/clock.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

struct NoScheduler final : TaskScheduler {
    void enqueue(Task&) noexcept override { ADD_FAILURE() << "the task has not parked"; }
};

// A task that waits with a timer, and whose waits never park.
class Waiter {
  public:
    Waiter(TimerWheel& wheel, detail::LazyTimer& timer) : wheel_(wheel), timer_(timer) {}

    void begin(Deadline deadline) {
        epoch_ = task_.park.prepare();
        timer_.begin(wheel_, WakeKey(task_, epoch_, WakeReason::timeout), deadline);
    }
    bool timedOut() const { return task_.park.isClaimed(); }
    // Ends the wait; true if the timer has ended it.
    bool end() {
        timer_.end();
        const bool timedOut = !task_.park.abort(epoch_);
        if (timedOut) {
            EXPECT_EQ(static_cast<WakeReason>(task_.park.finish()), WakeReason::timeout);
        }
        return timedOut;
    }

  private:
    TimerWheel& wheel_;
    detail::LazyTimer& timer_;
    NoScheduler scheduler_;
    Task task_{scheduler_};
    detail::ParkToken::Epoch epoch_ = 0;
};

// The time of this test is a whole second in the future, because LazyTimer reads the clock.
class LazyTimerTest : public ::testing::Test {
  protected:
    ~LazyTimerTest() override { timer_.disarm(); }
    TimePoint at(Duration time) const { return start_ + time; }
    // A timer that is armed again by its own expiry, late, fires in the next call.
    void pass(Duration time) {
        wheel_.expire(at(time) + TimerWheel::tick);
        wheel_.expire(at(time) + TimerWheel::tick);
    }

    const TimePoint start_ = std::chrono::ceil<std::chrono::seconds>(Clock::steady().now()) + 1h;
    TimerWheel wheel_{Clock::steady().now()};
    detail::LazyTimer timer_;
    Waiter waiter_{wheel_, timer_};
};

TEST_F(LazyTimerTest, AWaitEndsAtItsDeadlineAndNotBefore) {
    for (const Duration deadline : {0ns, 10s + 1ns, 20s + 700ms + 0ns, 30s + 0ns, 60s - 1ns}) {
        waiter_.begin(at(deadline));
        pass(deadline - 1ns - TimerWheel::tick);
        EXPECT_FALSE(waiter_.timedOut()) << deadline.count();
        pass(deadline);
        EXPECT_TRUE(waiter_.end()) << deadline.count();
    }
}

TEST_F(LazyTimerTest, ADeadlineThatHasPassedEndsTheWaitAtOnce) {
    waiter_.begin(Clock::steady().now() - 1h);
    wheel_.expire(Clock::steady().now());
    EXPECT_TRUE(waiter_.end());
    waiter_.begin(TimePoint::min());
    wheel_.expire(Clock::steady().now());
    EXPECT_TRUE(waiter_.end());
}

TEST_F(LazyTimerTest, ALongDeadlineDoesNotOverflow) {
    waiter_.begin(TimePoint::max() - 1ns);
    pass(1h);
    EXPECT_FALSE(waiter_.end());
}

TEST_F(LazyTimerTest, ItStaysArmedAndALaterWaitEndsAtItsOwnDeadline) {
    waiter_.begin(at(10s + 5ms));
    EXPECT_FALSE(waiter_.end());
    EXPECT_TRUE(timer_.armed());
    waiter_.begin(at(20s + 5ms));
    pass(20s);
    EXPECT_FALSE(waiter_.timedOut());
    pass(20s + 5ms);
    EXPECT_TRUE(waiter_.end());
    EXPECT_FALSE(timer_.armed());
}

TEST_F(LazyTimerTest, AnEarlierDeadlineIsKept) {
    waiter_.begin(at(20s));
    EXPECT_FALSE(waiter_.end());
    waiter_.begin(at(10s + 5ms));
    pass(10s + 5ms);
    EXPECT_TRUE(waiter_.end());
}

TEST_F(LazyTimerTest, AWaitWithoutADeadlineIsNotEndedByTheTimerOfTheOneBefore) {
    waiter_.begin(at(10s));
    EXPECT_FALSE(waiter_.end());
    pass(11s);
    EXPECT_FALSE(waiter_.timedOut());
    EXPECT_FALSE(timer_.armed());
    EXPECT_TRUE(wheel_.empty());
}

TEST_F(LazyTimerTest, AfterDisarmingNothingIsLeftInTheWheel) {
    waiter_.begin(at(10s));
    timer_.disarm();
    timer_.disarm();
    EXPECT_TRUE(wheel_.empty());
    pass(11s);
    EXPECT_FALSE(waiter_.end());
}

// A carrier that has become idle is woken once for all of them.
TEST_F(LazyTimerTest, TimersOfEndedWaitsFireTogether) {
    std::deque<detail::LazyTimer> timers(1000);
    std::deque<Waiter> waiters;
    for (std::size_t i = 0; i < timers.size(); ++i) {
        waiters.emplace_back(wheel_, timers[i]).begin(at(30s + i * 900us));
        EXPECT_FALSE(waiters.back().end());
    }
    std::set<Deadline> wakeUps;
    while (!wheel_.empty()) {
        const Deadline next = wheel_.earliest();
        wakeUps.insert(next);
        wheel_.expire(next + TimerWheel::tick);
    }
    EXPECT_EQ(wakeUps, std::set<Deadline>{at(30s)});
}

}  // namespace
}  // namespace weft
