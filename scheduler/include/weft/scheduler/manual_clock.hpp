// ManualClock: time for tests and embedded loops.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/least.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

namespace weft {

// A clock that moves only by advance(). Give it to an embedded EventLoop, or to all carriers of a group
// (CarrierOptions::clock). Then sleeps, deadlines and timers of the group's fibers and event loops end when the test
// advances the clock to their deadlines; those that have passed already end at once:
//     auto fiber = group.spawn([] { thisFiber::sleepFor(std::chrono::hours(1)); });
//     ...                                   // once the fiber waits, for example according to CarrierGroup::fibers()
//     clock.advance(std::chrono::hours(1));
//     fiber.join();
// Lifetime: longer than everything that uses it.
class ManualClock final : public Clock {
  public:
    TimePoint now() const noexcept override {
        return TimePoint(
            Duration(now_.load(std::memory_order_relaxed)));  // a carrier acquires it with the request [K1]
    }
    // Moves the clock and wakes the carriers that use it; returns before their fibers have run. Context: any thread,
    // one at a time. Precondition: `by` is not negative. The clock never reaches `never`, so that later sleeps can end:
    // an advance that would do so moves it to a year before, and, from there on, by half of the time that is left.
    void advance(Duration by) noexcept {
        WEFT_ASSERT(by >= Duration::zero(), refusal(by).c_str());
        now_.store(after(now(), by).time_since_epoch().count(), std::memory_order_relaxed);  // as above
        const NonSuspendingScope scope;
        const std::lock_guard held(lock_);
        for (ClockListener* const listener : listeners_) listener->onClockMoved();
    }

    void addListener(ClockListener& listener) override {
        const std::lock_guard held(lock_);
        listeners_.push_back(&listener);
    }
    void removeListener(ClockListener& listener) noexcept override {
        const std::lock_guard held(lock_);
        std::erase(listeners_, &listener);
    }

  private:
    static std::string refusal(Duration by) {
        return "ManualClock::advance: by is " + std::to_string(by.count()) + " ns; accepted: 0 or more";
    }
    static TimePoint after(TimePoint from, Duration by) noexcept {
        constexpr auto year = std::chrono::hours(24 * 365);
        const TimePoint sum = deadlineAfter(from, by);
        return sum != never ? sum : detail::greatest(never - year, from + (never - from) / 2);
    }

    std::atomic<Duration::rep> now_{Duration(std::chrono::hours(1)).count()};
    std::mutex lock_;  // guards listeners_
    std::vector<ClockListener*> listeners_;
};

}  // namespace weft
