// ManualClock: time for tests and embedded loops.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft {

// A clock that moves only by advance(). Give it to an embedded EventLoop, or to all carriers of a group
// (CarrierOptions::clock). Then sleeps, deadlines and timers of the group's fibers and event loops end when the test
// advances the clock:
//     auto fiber = group.spawn([] { thisFiber::sleepFor(std::chrono::hours(1)); });
//     ...                                   // once the fiber waits, for example according to CarrierGroup::fibers()
//     clock.advance(std::chrono::hours(1) + std::chrono::milliseconds(1));  // timers may be late by a tick, 65 us
//     fiber.join();
// Lifetime: longer than everything that uses it.
class ManualClock final : public Clock {
  public:
    TimePoint now() const noexcept override {
        return TimePoint(
            Duration(now_.load(std::memory_order_relaxed)));  // a carrier acquires it with the request [K1]
    }
    // Moves the clock and wakes the carriers that use it; returns before their fibers have run. Context: any thread,
    // one at a time.
    void advance(Duration by) noexcept {
        now_.store(deadlineAfter(now(), by).time_since_epoch().count(), std::memory_order_relaxed);  // as above
        const std::lock_guard held(lock_);
        for (ClockListener* const listener : listeners_) listener->onClockMoved();
    }

    void addListener(ClockListener& listener) override {
        const std::lock_guard held(lock_);
        listeners_.push_back(&listener);
    }
    void removeListener(ClockListener& listener) noexcept override {
        const std::lock_guard held(lock_);
        listeners_.erase(std::remove(listeners_.begin(), listeners_.end(), &listener), listeners_.end());
    }

  private:
    std::atomic<Duration::rep> now_{Duration(std::chrono::hours(1)).count()};
    std::mutex lock_;  // guards listeners_
    std::vector<ClockListener*> listeners_;
};

}  // namespace weft
