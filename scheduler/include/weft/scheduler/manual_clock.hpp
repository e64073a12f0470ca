// ManualClock: time for tests and embedded loops.
#pragma once

#include <chrono>

#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft {

// A clock that moves only by advance(). Context: the thread that owns the embedded loop.
class ManualClock final : public Clock {
  public:
    TimePoint now() const noexcept override { return now_; }
    void advance(Duration by) noexcept { now_ = deadlineAfter(now_, by); }

  private:
    TimePoint now_ = TimePoint(std::chrono::hours(1));
};

}  // namespace weft
