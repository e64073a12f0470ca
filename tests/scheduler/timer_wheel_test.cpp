#include <weft/scheduler/timer_wheel.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

const TimePoint start = TimePoint(hours(1));

// Remembers the order in which timers fired.
struct Recorder {
    struct Timer final : TimerEntry {
        Timer(Recorder& itsRecorder, int itsId) : TimerEntry(&Timer::fired), recorder(&itsRecorder), id(itsId) {}
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

TEST(TimerWheel, AfterALongIdleTimeTheNextExpiryIsAheadIfTheWheelIsToldTheTime) {
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
    wheel.catchUp(now + milliseconds(2));  // not empty: no timer may be passed by
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

TEST(TimerWheel, ADeadlineInThePastFiresAtTheNextLook) {
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

// A reference model: every timer fires in the first look at or after its deadline (plus less than a tick), in order.
// Notices when timers fire out of order.
struct OrderedTimer final : TimerEntry {
    OrderedTimer() : TimerEntry(&OrderedTimer::fired) {}
    static void fired(TimerEntry& entry) noexcept {
        inOrder = inOrder && latest <= entry.deadline();
        latest = entry.deadline();
    }
    static inline Deadline latest{};
    static inline bool inOrder = true;
};

// Were arming or firing linear in the size of a slot, this would take minutes.
TEST(TimerWheel, AHundredThousandTimersOfOneSlotAreArmedAndFiredInOrder) {
    for (const Duration spread : {Duration(milliseconds(15'000)), TimerWheel::tick / 2}) {
        OrderedTimer::latest = {};
        TimerWheel wheel(start);
        std::mt19937_64 random(7);
        std::vector<OrderedTimer> timers(100'000);
        for (OrderedTimer& timer : timers) {
            wheel.arm(timer, start + milliseconds(40'000) + Duration(random() % static_cast<std::uint64_t>(spread.count())));
        }
        EXPECT_EQ(wheel.expire(start + milliseconds(60'000)), timers.size());
        EXPECT_TRUE(OrderedTimer::inOrder);
    }
}

TEST(TimerWheel, ATimerThatAFireDisarmsDoesNotFireAndOneThatItArmsWaitsForTheNextCall) {
    Recorder recorder;
    TimerWheel wheel(start);
    struct Meddler final : TimerEntry {
        Meddler(TimerWheel& itsWheel, TimerEntry& itsVictim, TimerEntry& itsSuccessor)
            : TimerEntry([](TimerEntry& entry) noexcept {
                  auto& self = static_cast<Meddler&>(entry);
                  self.wheel.disarm(self.victim);
                  self.wheel.arm(self.successor, start);
              }),
              wheel(itsWheel),
              victim(itsVictim),
              successor(itsSuccessor) {}
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

TEST(TimerWheel, AgreesWithASortedListOverRandomDeadlinesAndSteps) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Recorder recorder;
    TimerWheel wheel(start);
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
                        ASSERT_GT(timer->deadline() + TimerWheel::tick, now) << "overdue";
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
