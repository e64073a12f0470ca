// Time in Weft: one monotonic clock, read through an interface so that tests and embedded loops can drive it by hand.
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>
#include <type_traits>

namespace weft {

using TimePoint = std::chrono::steady_clock::time_point;
// Nanoseconds in 64 bits: at most 292 years, Duration::max(). The implicit conversion of a longer time from a coarser
// unit overflows inside std::chrono; saturated() converts it without.
using Duration = std::chrono::nanoseconds;

// A point in time at which a wait ends by itself; `never` waits for ever.
using Deadline = TimePoint;
inline constexpr Deadline never = Deadline::max();

// `time` in nanoseconds, or the nearest Duration if it lies beyond what a Duration holds; a NaN becomes zero.
template <class Rep, class Period>
constexpr Duration saturated(std::chrono::duration<Rep, Period> time) noexcept {
    if constexpr (std::is_integral_v<Rep> && std::is_signed_v<Rep> && std::ratio_greater_equal_v<Period, std::nano>) {
        using Wide = std::chrono::duration<std::intmax_t, Period>;
        if (time > std::chrono::duration_cast<Wide>(Duration::max())) return Duration::max();
        if (time < std::chrono::duration_cast<Wide>(Duration::min())) return Duration::min();
        return std::chrono::duration_cast<Duration>(time);
    } else {
        using Exact = std::chrono::duration<long double, std::nano>;
        const long double exact = std::chrono::duration_cast<Exact>(time).count();
        if (exact >= static_cast<long double>(Duration::max().count())) return Duration::max();
        if (exact <= static_cast<long double>(Duration::min().count())) return Duration::min();
        return exact == exact ? Duration(static_cast<Duration::rep>(exact)) : Duration::zero();
    }
}
constexpr Duration saturated(Duration time) noexcept {
    return time;
}

// `from + time`, or the nearest point that a TimePoint holds: a sum beyond `never` is `never`, and so is every sum that
// starts from it. All of Weft adds times to time points with this.
constexpr Deadline deadlineAfter(TimePoint from, Duration time) noexcept {
    if (from == never) return never;
    const Duration since = from.time_since_epoch();
    if (time > Duration::zero() && since > Duration::max() - time) return never;
    if (time < Duration::zero() && since < Duration::min() - time) return TimePoint::min();
    return from + time;
}

// A source of monotonic time. Context: any thread. Never blocks, allocates or throws.
class Clock {
  public:
    virtual ~Clock() = default;
    virtual TimePoint now() const noexcept = 0;

    // The machine's CLOCK_MONOTONIC; lives for the whole process.
    static Clock& steady() noexcept;
};

// `time` from now on, by the steady clock; without overflow, as above.
inline Deadline deadlineAfter(Duration time) noexcept {
    return deadlineAfter(Clock::steady().now(), time);
}

// A clock that stands still until it is told to move. Context: the thread that owns the embedded loop.
class ManualClock final : public Clock {
  public:
    TimePoint now() const noexcept override { return now_; }
    void advance(Duration by) noexcept { now_ = deadlineAfter(now_, by); }

  private:
    TimePoint now_ = TimePoint(std::chrono::hours(1));
};

}  // namespace weft
