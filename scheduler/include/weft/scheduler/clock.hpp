// Time points, durations and the monotonic clock. Clock is an interface, so that tests and embedded loops can advance
// time by hand (manual_clock.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>
#include <type_traits>

namespace weft {

using TimePoint = std::chrono::steady_clock::time_point;
// Nanoseconds in 64 bits, so at most 292 years (Duration::max()). An implicit conversion of a longer std::chrono time,
// such as hours::max(), overflows; saturated() clamps it.
using Duration = std::chrono::nanoseconds;

// Converts `time` to nanoseconds, without fractions, clamped to the range of Duration. A NaN becomes zero.
template <class Rep, class Period>
constexpr Duration saturated(std::chrono::duration<Rep, Period> time) noexcept {
    if constexpr (std::is_integral_v<Rep> && std::is_signed_v<Rep> && std::ratio_divide<Period, std::nano>::den == 1) {
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

// Is told when a clock has been moved.
class ClockListener {
  public:
    // Context: the thread that moved the clock. Must not block, and must not add or remove listeners.
    virtual void onClockMoved() noexcept = 0;

  protected:
    ~ClockListener() = default;
};

// A source of monotonic time. Context: any thread.
class Clock {
  public:
    virtual ~Clock() = default;
    virtual TimePoint now() const noexcept = 0;

    // A clock that runs otherwise than CLOCK_MONOTONIC overrides both, and calls its listeners whenever its time has
    // changed: carriers with such a clock (CarrierOptions::clock) sleep until then. Context: any thread; after
    // removeListener() has returned, the listener is not called any more.
    virtual void addListener(ClockListener&) {}
    virtual void removeListener(ClockListener&) noexcept {}

    // The machine's CLOCK_MONOTONIC; lives for the whole process.
    static Clock& steady() noexcept;
    // The clock of the carrier that the caller runs on (CarrierOptions::clock); steady() on every other thread. The
    // deadlines of waits are times of this clock.
    static Clock& current() noexcept;
};

}  // namespace weft
