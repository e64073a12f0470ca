// Shared by the stress tests: the number of rounds, random delays, and a watchdog that distinguishes a lost wake-up
// from a slow one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>

#include "support/watchdog.hpp"

namespace weft::stress {

// --rounds of the command line, or a default that fits CI. `share`: this test's fraction of it.
std::uint64_t rounds(double share = 1.0);
// --seed of the command line, or a new one, which is printed.
std::uint32_t seed();

// At most a few hundred nanoseconds of work, so that two threads meet at varying points.
class Noise {
  public:
    explicit Noise(std::uint32_t seed) noexcept : state_(seed | 1) {}
    void operator()() noexcept {
        for (unsigned i = next() & 0xff; i > 0; --i) std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    std::uint32_t next() noexcept {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        return state_ ^= state_ << 5;
    }

  private:
    std::uint32_t state_;
};

using test::Watchdog;

inline CarrierOptions carriers(unsigned count) {
    CarrierOptions options;
    options.carriers = count;
    return options;
}

}  // namespace weft::stress
