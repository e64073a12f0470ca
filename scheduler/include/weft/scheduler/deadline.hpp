// Deadlines: points in time at which waits time out, and sums of times that do not overflow.
#pragma once

#include <weft/scheduler/clock.hpp>

namespace weft {

// The point in time at which a wait times out; with `never` it does not time out.
using Deadline = TimePoint;
inline constexpr Deadline never = Deadline::max();

// `from + time`, clamped to the range of TimePoint: a sum beyond `never` is `never`, and `never` plus anything is
// `never`. All of Weft adds durations to time points with this function.
constexpr Deadline deadlineAfter(TimePoint from, Duration time) noexcept {
    if (from == never) return never;
    const Duration since = from.time_since_epoch();
    if (time > Duration::zero() && since > Duration::max() - time) return never;
    if (time < Duration::zero() && since < Duration::min() - time) return TimePoint::min();
    return from + time;
}

// `time` from now on Clock::current(), clamped as above.
inline Deadline deadlineAfter(Duration time) noexcept {
    return deadlineAfter(Clock::current().now(), time);
}

}  // namespace weft
