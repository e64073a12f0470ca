#include <weft/scheduler/timer_wheel.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

const TimePoint start = TimePoint(hours(1));

// Records the order in which timers fired.
struct Recorder {
    struct Timer final : TimerEntry {
        Timer(Recorder& recorder, int id) : TimerEntry(&Timer::fired), recorder(&recorder), id(id) {}
        static void fired(TimerEntry& entry) noexcept {
            auto& timer = static_cast<Timer&>(entry);
            timer.recorder->fired.push_back(timer.id);
        }
        Recorder* recorder;
        int id;
    };

    Timer& arm(TimerWheel& wheel, Deadline at) {
        timers.push_back(std::make_unique<Timer>(*this, static_cast<int>(timers.size())));
        wheel.arm(*timers.back(), at);
        return *timers.back();
    }

    std::vector<std::unique_ptr<Timer>> timers;
    std::vector<int> fired;
};

TEST(TimerWheel, NothingFiresBeforeItsTimeAndNextExpiryNeverComesLate) {
    Recorder recorder;
    TimerWheel wheel(start);
    recorder.arm(wheel, start + milliseconds(5));
    EXPECT_EQ(wheel.expire(start + milliseconds(5) - nanoseconds(1)), 0u);
    EXPECT_LE(wheel.nextExpiry(), start + milliseconds(5) + TimerWheel::tick);
    EXPECT_EQ(wheel.expire(start + milliseconds(5) + TimerWheel::tick), 1u);
    EXPECT_EQ(wheel.nextExpiry(), never);
    EXPECT_TRUE(wheel.empty());
}

TEST(TimerWheel, AfterALongIdleTimeCatchUpKeepsTheNextExpiryInTheFuture) {
    Recorder recorder;
    TimerWheel wheel(start);
    const TimePoint now = start + milliseconds(20'000);
    recorder.arm(wheel, now + milliseconds(100));
    EXPECT_LT(wheel.nextExpiry(), now) << "a far timer, as seen from the start";
    EXPECT_EQ(wheel.earliest(), now + milliseconds(100));
    wheel.disarm(*recorder.timers.back());
    wheel.catchUp(now);
    recorder.arm(wheel, now + milliseconds(3));
    EXPECT_GE(wheel.nextExpiry(), now);
    EXPECT_EQ(wheel.earliest(), now + milliseconds(3));
    recorder.arm(wheel, now + milliseconds(1));
    wheel.catchUp(now + milliseconds(2));  // not empty: no timer may be skipped
    EXPECT_EQ(wheel.earliest(), now + milliseconds(1));
    EXPECT_EQ(wheel.expire(now + milliseconds(4)), 2u);
    EXPECT_EQ(wheel.earliest(), never);
}

TEST(TimerWheel, EqualDeadlinesFireInTheOrderOfArming) {
    Recorder recorder;
    TimerWheel wheel(start);
    for (int i = 0; i < 100; ++i) {
        recorder.arm(wheel, start + hours(2));
        wheel.expire(start + milliseconds(i * 70'000));  // so that they are armed on different levels
    }
    wheel.expire(start + hours(3));
    ASSERT_EQ(recorder.fired.size(), 100u);
    EXPECT_TRUE(std::is_sorted(recorder.fired.begin(), recorder.fired.end()));
}

TEST(TimerWheel, DeadlinesWithinOneTickFireInTheirOrder) {
    Recorder recorder;
    TimerWheel wheel(start);
    recorder.arm(wheel, start + milliseconds(1) + nanoseconds(300));
    recorder.arm(wheel, start + milliseconds(1) + nanoseconds(100));
    recorder.arm(wheel, start + milliseconds(1) + nanoseconds(200));
    wheel.expire(start + milliseconds(2));
    EXPECT_EQ(recorder.fired, (std::vector<int>{1, 2, 0}));
}

TEST(TimerWheel, ADisarmedTimerDoesNotFireWhereverItWaits) {
    for (const Deadline at : {start, start + milliseconds(1), start + hours(1), start + hours(100'000), never}) {
        Recorder recorder;
        TimerWheel wheel(start);
        auto& timer = recorder.arm(wheel, at);
        wheel.disarm(timer);
        wheel.disarm(timer);
        EXPECT_TRUE(wheel.empty());
        EXPECT_EQ(wheel.nextExpiry(), never);
        EXPECT_EQ(wheel.expire(start + hours(200'000)), 0u);
    }
}

TEST(TimerWheel, ADeadlineInThePastFiresAtTheNextExpire) {
    Recorder recorder;
    TimerWheel wheel(start);
    wheel.expire(start + hours(1));
    recorder.arm(wheel, start);
    EXPECT_LE(wheel.nextExpiry(), start + hours(1));
    EXPECT_EQ(wheel.expire(start + hours(1)), 1u);
}

TEST(TimerWheel, AClockThatStepsBackCountsAsStandingStill) {
    Recorder recorder;
    TimerWheel wheel(start);
    wheel.expire(start + hours(1));
    recorder.arm(wheel, start + hours(1) + milliseconds(1));
    EXPECT_EQ(wheel.expire(start), 0u);
    EXPECT_EQ(wheel.expire(start + hours(1) + milliseconds(2)), 1u);
}

// A reference model: every timer fires in the first expire() at or after its deadline (plus less than a tick), in
// order. Detects timers that fire out of order.
struct OrderedTimer final : TimerEntry {
    OrderedTimer() : TimerEntry(&OrderedTimer::fired) {}
    static void fired(TimerEntry& entry) noexcept {
        inOrder = inOrder && latest <= entry.deadline();
        latest = entry.deadline();
    }
    static inline Deadline latest{};
    static inline bool inOrder = true;
};

// If arming or firing were linear in the size of a slot, this would take minutes.
TEST(TimerWheel, AHundredThousandTimersOfOneSlotAreArmedAndFiredInOrder) {
    for (const Duration spread : {Duration(milliseconds(15'000)), TimerWheel::tick / 2}) {
        OrderedTimer::latest = {};
        TimerWheel wheel(start);
        std::mt19937_64 random(7);
        std::vector<OrderedTimer> timers(100'000);
        for (OrderedTimer& timer : timers) {
            wheel.arm(timer,
                      start + milliseconds(40'000) + Duration(random() % static_cast<std::uint64_t>(spread.count())));
        }
        EXPECT_EQ(wheel.expire(start + milliseconds(60'000)), timers.size());
        EXPECT_TRUE(OrderedTimer::inOrder);
    }
}

TEST(TimerWheel, ATimerThatAFireDisarmsDoesNotFireAndOneThatItArmsWaitsForTheNextCall) {
    Recorder recorder;
    TimerWheel wheel(start);
    struct Meddler final : TimerEntry {
        Meddler(TimerWheel& wheel, TimerEntry& victim, TimerEntry& successor)
            : TimerEntry([](TimerEntry& entry) noexcept {
                  auto& self = static_cast<Meddler&>(entry);
                  self.wheel.disarm(self.victim);
                  self.wheel.arm(self.successor, start);
              }),
              wheel(wheel),
              victim(victim),
              successor(successor) {}
        TimerWheel& wheel;
        TimerEntry& victim;
        TimerEntry& successor;
    };
    Recorder::Timer victim(recorder, 1), bystander(recorder, 2), successor(recorder, 3);
    Meddler meddler(wheel, victim, successor);
    wheel.arm(meddler, start + milliseconds(1));
    wheel.arm(victim, start + milliseconds(1));
    wheel.arm(bystander, start + milliseconds(1));
    EXPECT_EQ(wheel.expire(start + milliseconds(2)), 2u);
    EXPECT_EQ(recorder.fired, (std::vector<int>{2}));
    EXPECT_EQ(wheel.expire(start + milliseconds(2)), 1u);
    EXPECT_EQ(recorder.fired, (std::vector<int>{2, 3}));
}

// ---- an expiry in portions ----

// How many steps it takes to fire all of them.
std::size_t stepsFor(const std::vector<Deadline>& deadlines, TimePoint now) {
    TimerWheel wheel(start);
    std::vector<OrderedTimer> timers(deadlines.size());
    for (std::size_t i = 0; i < timers.size(); ++i) wheel.arm(timers[i], deadlines[i]);
    OrderedTimer::latest = {};
    std::size_t steps = 0;
    do {
        wheel.expire(now, 1);
        ++steps;
    } while (wheel.unfinished());
    EXPECT_TRUE(wheel.empty());
    EXPECT_TRUE(OrderedTimer::inOrder);
    return steps;
}

TEST(TimerWheel, TimersInAnyOrderCostAsManyStepsAsThoseInOrderAndAFewEach) {
    constexpr std::size_t count = 20'000;
    std::mt19937_64 random(11);
    for (const Duration window : {Duration(milliseconds(10)), Duration(TimerWheel::tick / 3), Duration(hours(1))}) {
        std::vector<Deadline> deadlines;
        for (std::size_t i = 0; i < count; ++i) {
            deadlines.push_back(start + milliseconds(100) +
                                nanoseconds(random() % static_cast<std::uint64_t>(window.count())));
        }
        const TimePoint end = start + milliseconds(100) + window + TimerWheel::tick;
        const std::size_t unordered = stepsFor(deadlines, end);
        std::sort(deadlines.begin(), deadlines.end());
        EXPECT_EQ(unordered, stepsFor(deadlines, end));
        EXPECT_LE(unordered, 8 * count);
    }
}

// Equal deadlines, timers that are armed and disarmed between the portions, and portions of every size.
TEST(TimerWheel, AnExpiryInPortionsFiresTheSameTimersInTheSameOrder) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TimerWheel wheel(start);
    TimePoint now = start;
    Recorder recorder;
    struct DisarmAll {  // also when an assertion ends the test: a wheel must not be destroyed with timers
        TimerWheel& wheel;
        Recorder& recorder;
        ~DisarmAll() {
            for (const auto& timer : recorder.timers) wheel.disarm(*timer);
        }
    } const disarmAll{wheel, recorder};
    std::vector<TimePoint> armedAt;
    const auto armOne = [&] {
        armedAt.push_back(now);
        if (!recorder.timers.empty() && random() % 2 == 0) {
            const Deadline same = recorder.timers[random() % recorder.timers.size()]->deadline();
            if (same > now) return static_cast<void>(recorder.arm(wheel, same));
        }
        const Duration unit = random() % 2 == 0 ? Duration(1) : Duration(100'000);
        recorder.arm(wheel, now + unit * static_cast<Duration::rep>(random() % 500));
    };
    for (int round = 0; round < 2'000; ++round) {
        for (std::size_t i = random() % 100; i > 0; --i) armOne();
        now += nanoseconds(random() % 10'000'000);
        const std::size_t before = recorder.fired.size();
        for (;;) {
            const std::size_t steps = 1 + random() % 20;
            ASSERT_LE(wheel.expire(now, steps), steps);
            if (!wheel.unfinished()) break;
            ASSERT_LE(wheel.nextExpiry(), now) << "there is something to do";
            if (random() % 2 == 0) armOne();
            if (random() % 4 == 0) wheel.disarm(*recorder.timers[random() % recorder.timers.size()]);
        }
        wheel.expire(now);  // timers that were armed late meanwhile
        for (std::size_t i = before; i < recorder.fired.size(); ++i) {
            const auto id = static_cast<std::size_t>(recorder.fired[i]);
            ASSERT_LE(recorder.timers[id]->deadline(), now) << "fired early";
            if (i == before) continue;
            const auto last = static_cast<std::size_t>(recorder.fired[i - 1]);
            if (armedAt[id] == now || armedAt[last] == now) continue;  // late timers have their own order
            const Deadline at = recorder.timers[id]->deadline(), atLast = recorder.timers[last]->deadline();
            ASSERT_TRUE(atLast < at || (atLast == at && last < id)) << "out of order";
        }
        for (const auto& timer : recorder.timers) {
            ASSERT_TRUE(!timer->armed() || timer->deadline() + TimerWheel::tick > now) << "overdue";
        }
        if (recorder.timers.size() < 5'000) continue;
        while (!wheel.empty()) wheel.expire(now += hours(1));
        recorder = {};
        armedAt.clear();
    }
    while (!wheel.empty()) wheel.expire(now += hours(1));
    EXPECT_EQ(wheel.nextExpiry(), never);
    EXPECT_FALSE(wheel.unfinished());
}

TEST(TimerWheel, AnExpiryWhoseRestIsDisarmedIsFinished) {
    Recorder recorder;
    TimerWheel wheel(start);
    for (int i = 0; i < 10; ++i) recorder.arm(wheel, start + milliseconds(5) + nanoseconds(i % 3));
    EXPECT_LE(wheel.expire(start + milliseconds(6), 4), 4u);
    EXPECT_TRUE(wheel.unfinished());
    for (const auto& timer : recorder.timers) wheel.disarm(*timer);
    EXPECT_FALSE(wheel.unfinished());
    EXPECT_EQ(wheel.nextExpiry(), never);
    const std::size_t fired = recorder.fired.size();
    recorder.arm(wheel, start + milliseconds(8));
    EXPECT_EQ(wheel.expire(start + milliseconds(7)), 0u);
    EXPECT_EQ(wheel.expire(start + milliseconds(9)), 1u);
    EXPECT_EQ(recorder.fired.size(), fired + 1);
}

TEST(TimerWheel, TimersThatAreArmedLateFireInTheOrderOfArmingAheadOfTheOthers) {
    Recorder recorder;
    TimerWheel wheel(start);
    wheel.expire(start + milliseconds(100));
    recorder.arm(wheel, start + milliseconds(150));
    recorder.arm(wheel, start + milliseconds(50));
    recorder.arm(wheel, start + milliseconds(20));
    EXPECT_EQ(wheel.expire(start + milliseconds(200)), 3u);
    EXPECT_EQ(recorder.fired, (std::vector<int>{1, 2, 0}));
}

class TimersInTicksOrAtOnce : public testing::TestWithParam<TimerWheel::Due> {};
INSTANTIATE_TEST_SUITE_P(TimerWheel, TimersInTicksOrAtOnce,
                         testing::Values(TimerWheel::Due::atTick, TimerWheel::Due::atOnce));

TEST_P(TimersInTicksOrAtOnce, AgreeWithASortedListOverRandomDeadlinesAndSteps) {
    const Duration latest = GetParam() == TimerWheel::Due::atTick ? TimerWheel::tick : Duration(1);
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Recorder recorder;
    TimerWheel wheel(start, GetParam());
    TimePoint now = start;
    std::vector<Deadline> deadlines;
    std::size_t disarmed = 0;
    for (int step = 0; step < 20'000; ++step) {
        switch (random() % 4) {
            case 0:
            case 1: {
                const Deadline at = now + nanoseconds(random() % (std::uint64_t{1} << (10 + random() % 40)));
                deadlines.push_back(at);
                recorder.arm(wheel, at);
                break;
            }
            case 2:
                if (!recorder.timers.empty()) {
                    auto& timer = *recorder.timers[random() % recorder.timers.size()];
                    disarmed += timer.armed();
                    wheel.disarm(timer);
                }
                break;
            default: {
                const Deadline expected = wheel.nextExpiry();
                now += nanoseconds(random() % (std::uint64_t{1} << (10 + random() % 36)));
                const std::size_t before = recorder.fired.size();
                wheel.expire(now);
                for (std::size_t i = before; i < recorder.fired.size(); ++i) {
                    const Deadline at = deadlines[static_cast<std::size_t>(recorder.fired[i])];
                    ASSERT_LE(at, now) << "fired early";
                    if (i > before) {
                        ASSERT_LE(deadlines[static_cast<std::size_t>(recorder.fired[i - 1])], at) << "out of order";
                    }
                }
                if (recorder.fired.size() > before) {
                    ASSERT_LE(expected, now) << "nextExpiry() came late";
                }
                for (const auto& timer : recorder.timers) {
                    if (timer->armed()) {
                        ASSERT_GT(timer->deadline() + latest, now) << "overdue";
                    }
                }
                break;
            }
        }
        if (recorder.timers.size() > 500) {
            wheel.expire(now += hours(30'000));
            ASSERT_TRUE(wheel.empty());
            ASSERT_EQ(recorder.fired.size() + disarmed, deadlines.size());
            recorder.timers.clear();
            recorder.fired.clear();
            deadlines.clear();
            disarmed = 0;
        }
    }
    wheel.expire(now + hours(30'000));
    EXPECT_TRUE(wheel.empty());
}

}  // namespace
}  // namespace weft
