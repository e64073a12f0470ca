// The futex calls with which a carrier or a plain thread sleeps. Private to the scheduler.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/scheduler/deadline.hpp>

namespace weft::detail {

// Blocks while `word` holds `value`, until woken or the deadline (CLOCK_MONOTONIC). May return spuriously.
void futexWait(std::atomic<std::uint32_t>& word, std::uint32_t value, Deadline deadline) noexcept;
// Wakes one waiter. The word may have been destroyed already: only its address is used.
void futexWake(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace weft::detail
