// The monotonic clock of the load generators, in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace weft::perf {

inline std::int64_t readClock(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline std::int64_t now() {
    return readClock(CLOCK_MONOTONIC);
}

}  // namespace weft::perf
