#include <weft/scheduler/detail/slice_clock.hpp>

#include <algorithm>

namespace weft::detail {

namespace {
constexpr Duration shortestMeasure = std::chrono::milliseconds(1);
constexpr Duration longestMeasure = std::chrono::seconds(1);  // then measure again: a virtual machine may have moved
constexpr unsigned longestBatch = 8;
}  // namespace

std::uint64_t SliceClock::cyclesIn(Duration time) const noexcept {
    const Duration bounded = std::min<Duration>(time, longestMeasure);
    return static_cast<std::uint64_t>(cyclesPerNanosecond_ * static_cast<double>(bounded.count()));
}

void SliceClock::calibrate(TimePoint now, std::uint64_t cycles) noexcept {
    const Duration since = now - knownAt_;
    if (since < shortestMeasure || (cyclesPerNanosecond_ > 0 && since < longestMeasure)) return;
    // Skip the first call, and a counter that has not advanced.
    if (knownCycles_ != 0 && cycles > knownCycles_) {
        cyclesPerNanosecond_ = static_cast<double>(cycles - knownCycles_) / static_cast<double>(since.count());
    }
    knownAt_ = now;
    knownCycles_ = cycles;
}

bool SliceClock::passedAfterBatch() noexcept {
    const std::uint64_t cycles = readCycles();
    batch_ = cycles - checkedAt_ < limit_ / 16 ? std::min(2 * batch_, longestBatch) : 1;
    unchecked_ = batch_;
    checkedAt_ = cycles;
    if (cycles - from_ < limit_ || !passedByTheClock()) return false;
    unchecked_ = 1;  // the next call finds it, too
    return true;
}

bool SliceClock::passedByTheClock() noexcept {
    const std::uint64_t cycles = readCycles();  // first: a thread that is preempted in between asks early, not late
    const TimePoint now = Clock::steady().now();
    if (now >= end_) return true;
    from_ = cycles;
    limit_ = cyclesIn(end_ - now);
    return false;
}

}  // namespace weft::detail
