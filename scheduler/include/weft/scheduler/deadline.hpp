// Time in Weft: one monotonic clock, read through an interface so that tests and embedded loops can drive it by hand.
#pragma once

#include <chrono>

namespace weft {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::nanoseconds;

// A point in time at which a wait ends by itself; `never` waits for ever.
using Deadline = TimePoint;
inline constexpr Deadline never = Deadline::max();

// A source of monotonic time. Context: any thread. Never blocks, allocates or throws.
class Clock {
  public:
    virtual ~Clock() = default;
    virtual TimePoint now() const noexcept = 0;

    // The machine's CLOCK_MONOTONIC; lives for the whole process.
    static Clock& steady() noexcept;
};

// A clock that stands still until it is told to move. Context: the thread that owns the embedded loop.
class ManualClock final : public Clock {
  public:
    TimePoint now() const noexcept override { return now_; }
    void advance(Duration by) noexcept { now_ += by; }

  private:
    TimePoint now_ = TimePoint(std::chrono::hours(1));
};

}  // namespace weft
