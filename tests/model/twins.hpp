// Twins: the same scenarios with one defect. weakenings() weakens the order of one atomic operation after the other;
// expectKilled() is for control flow, which must be broken by hand. A twin that no scenario kills is a survivor: the
// test lists it with a reason, or fails.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "explorer.hpp"

namespace weft::model {

struct Case {
    Options options;  // its name
    Scenario scenario;
};

struct Twin {
    std::string name;  // "park_state advertise exchange seq_cst->acq_rel"
    std::vector<std::string> edges;
    FailureKind killedBy = FailureKind::none;
    std::string killedIn;  // the case
    std::string message;
    std::uint64_t executions = 0;  // until it was killed, or all
    bool implied = false;          // survives because a weaker one does

    bool killed() const noexcept { return killedBy != FailureKind::none; }
};

// How hard to hunt a twin: first at random, which kills most at once, then depth-first.
struct Hunt {
    std::uint64_t random = 20'000;
    std::uint64_t pct = 20'000;
    std::uint64_t depthFirst = 100'000;
    unsigned preemptions = 2;
    double seconds = 20;                  // of each of these
    std::vector<std::string_view> files;  // only sites in these ("park_state"); empty: in all
};

// Each site that the cases visit, with each legal weaker order.
std::vector<Twin> weakenings(std::span<const Case> cases, const Hunt& hunt = {});

// All of these at once, by name: orders that survive alone because each suffices must not survive together.
Twin weakenedTogether(std::span<const Case> cases, std::span<const std::string_view> names, const Hunt& hunt = {});

struct Survivor {
    std::string_view twin;  // its name; one that ends in '*' matches all with that beginning
    std::string_view reason;
};

// What is wrong: survivors without a reason, and reasons for twins that were killed or do not exist. Empty if all is
// well.
std::vector<std::string> complaints(std::span<const Twin> twins, std::span<const Survivor> survivors);

// Prints them, one a line, and a summary.
void report(const Twin& twin);
void report(const std::string& protocol, std::span<const Twin> twins);

// Explores a scenario with a defect until it fails.
Result hunt(const Case& broken, const Hunt& hunt = {});

}  // namespace weft::model
