// Choices: every open decision of an execution (which thread runs, which store a load reads, where a store goes), as
// one stack of small numbers. The explorer owns it; it knows nothing of threads or memory. The numbers replay an
// execution.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::model {

enum class Search : std::uint8_t {
    depthFirst,  // every execution with at most `preemptions` preemptions
    full,        // every execution, but only one of those that differ only in the order of independent steps
    random,      // uniform, by seed
    pct,         // random priorities with a few change points (probabilistic concurrency testing)
    replay,      // one given execution
};

const char* nameOf(Search search) noexcept;

// A small generator with the same numbers on every machine.
class Random {
  public:
    explicit Random(std::uint64_t seed = 1) noexcept : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
    std::uint64_t next() noexcept;
    unsigned below(unsigned limit) noexcept { return static_cast<unsigned>((next() >> 32) * limit >> 32); }

  private:
    std::uint64_t state_;
};

class Choices {
  public:
    void beginDepthFirst() { begin(Search::depthFirst); }
    void beginRandom(std::uint64_t seed) { begin(Search::random, seed); }
    void beginPct(std::uint64_t seed, unsigned depth);
    void beginReplay(std::string_view token);

    // Starts the next execution; returns false when every one has been explored.
    [[nodiscard]] bool advance();

    // Picks one of `count` alternatives; the first is the one that a sequential machine would take.
    unsigned pick(unsigned count) { return count == 1 ? 0 : choose(count); }
    // Picks one of the runnable threads; only the first `allowed` of them are searched depth-first.
    unsigned pickThread(std::span<const std::uint8_t> threads, unsigned allowed);

    // The choices taken so far, as text that beginReplay() accepts.
    std::string token() const;
    Search search() const noexcept { return search_; }

  private:
    struct Choice {
        std::uint8_t taken;
        std::uint8_t count;
    };

    void begin(Search search, std::uint64_t seed = 1);
    unsigned choose(unsigned count);
    unsigned record(unsigned taken, unsigned count);
    unsigned byPriority(std::span<const std::uint8_t> threads);
    void drawPriorities();

    Search search_ = Search::depthFirst;
    std::vector<Choice> stack_;
    std::size_t position_ = 0;  // the next choice; the stack prescribes those before it
    bool first_ = true;
    Random random_;

    unsigned depth_ = 3;  // of PCT: change points + 1
    unsigned step_ = 0;
    unsigned longest_ = 16;  // thread choices in the longest execution so far
    std::array<int, 8> priority_{};
    std::array<unsigned, 8> changeAt_{};
};

}  // namespace weft::model
