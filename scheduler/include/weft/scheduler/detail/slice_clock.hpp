// SliceClock: tells after each slice of work whether a time budget has passed, at the cost of reading a cycle counter.
// Reading the steady clock would cost half a fiber switch.
#pragma once

#include <cstdint>

#include <weft/scheduler/deadline.hpp>

namespace weft::detail {

// Used by one thread. It calibrates the counter against the steady clock continuously, and the steady clock decides
// when the budget has passed. Without a counter, or before the first calibration, every call reads the clock.
class SliceClock {
  public:
    // Begins a budget at `now`, the time of the steady clock.
    void begin(TimePoint now, Duration budget) noexcept {
        const std::uint64_t cycles = readCycles();
        calibrate(now, cycles);
        began_ = now;
        end_ = deadlineAfter(now, budget);
        from_ = checkedAt_ = cycles;
        limit_ = cyclesIn(budget);
        batch_ = unchecked_ = 1;
    }
    TimePoint began() const noexcept { return began_; }
    // True when the budget has passed.
    bool passed() noexcept {
        if (readCycles() - from_ < limit_) return false;
        return passedByTheClock();
    }
    // As passed(), for a caller that asks after each slice. While slices are short it reads the counter after up to
    // eight of them, if the last such batch took less than a sixteenth of the budget: reading it after each costs a
    // tenth of the shortest slices (docs/adr/0032). Once true, it remains true.
    bool passedAfterSlice() noexcept { return --unchecked_ == 0 && passedAfterBatch(); }

  private:
    static std::uint64_t readCycles() noexcept {
#if defined(__x86_64__)
        return __builtin_ia32_rdtsc();  // as __rdtsc(), without the 46,000 lines of <x86intrin.h>
#elif defined(__aarch64__)
        std::uint64_t ticks;
        asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
#else
        return 0;
#endif
    }
    std::uint64_t cyclesIn(Duration time) const noexcept;
    void calibrate(TimePoint now, std::uint64_t cycles) noexcept;
    bool passedAfterBatch() noexcept;
    bool passedByTheClock() noexcept;

    unsigned unchecked_ = 1;  // slices until passedAfterSlice() reads the counter
    unsigned batch_ = 1;      // of so many slices
    std::uint64_t checkedAt_ = 0;
    TimePoint began_{};
    std::uint64_t from_ = 0;
    std::uint64_t limit_ = 0;  // 0: read the clock in every call
    Deadline end_ = never;
    TimePoint knownAt_{};  // with knownCycles_, the start of the current measurement of the rate
    std::uint64_t knownCycles_ = 0;
    double cyclesPerNanosecond_ = 0;
};

}  // namespace weft::detail
