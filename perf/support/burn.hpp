// CPU-bound work of a task.
#pragma once

#include <chrono>

#include <time.h>

namespace weft::perf {

// Spends `time` of the calling thread's CPU time, so a preempted task still does all of its work. Does not suspend the
// fiber.
inline void burn(std::chrono::nanoseconds time) {
    timespec began, at;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
    do ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    while ((at.tv_sec - began.tv_sec) * 1'000'000'000LL + (at.tv_nsec - began.tv_nsec) < time.count());
}

}  // namespace weft::perf
