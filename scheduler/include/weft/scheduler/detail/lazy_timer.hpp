// LazyTimer: the timer of a place where one waiter after another waits until a deadline, such as one direction of a
// connection.
#pragma once

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/task.hpp>
#include <weft/scheduler/timer_wheel.hpp>

namespace weft::detail {

// Stays armed when a wait ends, for the next one. Most waits end long before their deadline, and to leave the wheel's
// list each would have to write to its neighbours, the timers of other waiters, which are seldom in the cache.
// If the deadline is seconds away, the timer is armed for the last whole second before it, so that timers whose waits
// have ended fire together. A timer that fires while no wait uses it does nothing.
// Context: the wheel's thread. Never blocks, allocates or throws.
class LazyTimer final : private TimerEntry {
  public:
    LazyTimer() noexcept : TimerEntry(&LazyTimer::fired) {}

    // Wakes `key` when `deadline` has passed, unless end() comes first. `deadline` is not `never`.
    void begin(TimerWheel& wheel, const WakeKey& key, Deadline deadline) noexcept;
    void end() noexcept { key_ = {}; }
    // Call it before the timer or its wheel is destroyed. No wait may follow on another wheel before.
    void disarm() noexcept {
        if (armed()) wheel_->disarm(*this);
    }
    using TimerEntry::armed;

  private:
    static void fired(TimerEntry& entry) noexcept;
    void armAfter(TimePoint now) noexcept;

    WakeKey key_;  // empty: no wait uses the timer
    Deadline deadline_{};
    TimerWheel* wheel_ = nullptr;
};

}  // namespace weft::detail
