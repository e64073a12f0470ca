// Shared by the chaos programs: the seed, the CPU time that a test may use, dice, and the report of a failure.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace weft::test {

// --seed of the command line, or a new one; printed once.
std::uint64_t chaosSeed();

// Fails the test with `what` and the seed, and ends every loop of the test (ChaosRun::goesOn). Any thread.
void wrong(const std::string& what);
bool anythingWrong() noexcept;

// Random numbers for one thread or fiber at a time.
class Dice {
  public:
    // Yields the same numbers for the same seed of the run and the same `stream`, which identifies the user.
    explicit Dice(std::uint64_t stream) : engine_(chaosSeed() * 0x9E3779B97F4A7C15u + stream) {}

    unsigned below(unsigned end) { return static_cast<unsigned>(engine_() % end); }
    unsigned between(unsigned least, unsigned most) { return least + below(most - least + 1); }
    bool oneIn(unsigned count) { return below(count) == 0; }
    // Mostly small, up to `most`: each magnitude is as likely as any other.
    unsigned size(unsigned most) {
        const unsigned bits = below(static_cast<unsigned>(std::bit_width(most)) + 1);
        return std::min(most, below(1u << bits));
    }
    template <class Container>
    const auto& pick(const Container& from) {
        return from[below(static_cast<unsigned>(std::size(from)))];
    }

  private:
    std::mt19937_64 engine_;
};

// One test's share of the process's CPU time (--seconds or --cpu-minutes, divided among the tests that run). Counts
// what the test has done, and prints it at the end.
class ChaosRun {
  public:
    explicit ChaosRun(std::string what);  // what is counted: "exchanges"
    ~ChaosRun();
    ChaosRun(const ChaosRun&) = delete;
    ChaosRun& operator=(const ChaosRun&) = delete;

    // False when the time is up or something is wrong. Any thread.
    bool goesOn() const noexcept;
    void count(std::uint64_t more = 1) noexcept { done_.fetch_add(more, std::memory_order_relaxed); }

  private:
    const std::string what_;
    const double began_;
    const double end_;
    std::atomic<std::uint64_t> done_{0};
};

}  // namespace weft::test
