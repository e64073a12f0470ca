// Shared by the tests of the protocols: explores all cases of a protocol in one mode, and hunts its twins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atomics.hpp"
#include "blocking.hpp"
#include "explorer.hpp"
#include "twins.hpp"

namespace weft::model {

// Names the scenarios of a protocol and their atomics (in the order of construction, for the trace).
inline Case makeCase(std::string name, Scenario scenario) {
    Case made;
    made.options.name = std::move(name);
    made.scenario = std::move(scenario);
    return made;
}

// One case: where a twin is to be killed, or what is searched in another mode.
inline std::vector<Case> only(std::string_view name, std::vector<Case> all) {
    std::erase_if(all, [&](const Case& tested) { return tested.options.name != name; });
    EXPECT_EQ(all.size(), 1u) << name;
    return all;
}

struct Budget {
    Search search = Search::depthFirst;
    unsigned preemptions = 2;
    std::uint64_t executions = 1'000'000;
    double seconds = 20;
    std::uint64_t least = 10'000;  // minimum for a search that does not end; `executions` if that is less
    bool mustEnd = false;          // each case's search ends within the budget: names with "every" and "any" are true
    std::vector<std::string_view> unless = {};  // except these cases, which have more interleavings
};

// Why this search proves less than it should; empty when it proves what the budget asks for. A search that ended has
// explored everything; one that did not must have explored `least`, however slow the machine.
inline std::string shortfall(const Budget& budget, const Result& result) {
    if (result.executions == 0) return "nothing was explored";
    if (result.complete) return {};
    if (budget.mustEnd) return "the search did not end, after " + std::to_string(result.executions) + " interleavings";
    const std::uint64_t least = std::min(budget.least, budget.executions);
    if (result.executions + result.discarded >= least) return {};
    return "only " + std::to_string(result.executions) + " interleavings were explored; at least " +
           std::to_string(least) + " are wanted";
}

// WEFT_MODEL_EFFORT: a factor for the budgets of searches that need not end; 0.5 in .ci/run, 4 in scripts/prove.
inline double searchEffort() {
    const char* given = std::getenv("WEFT_MODEL_EFFORT");
    if (given == nullptr) return 1;
    char* end = nullptr;
    const double effort = std::strtod(given, &end);
    if (end == given || *end != '\0' || !(effort >= 0.01 && effort <= 1000)) {
        ADD_FAILURE() << "WEFT_MODEL_EFFORT is '" << given << "': expected a number from 0.01 to 1000";
        return 1;
    }
    return effort;
}

// The budget for one of the cases. A search that must end gets the time that a loaded machine needs: the limit of ctest
// ends one that hangs.
inline Budget budgetFor(std::string_view name, Budget budget) {
    if (std::ranges::find(budget.unless, name) != budget.unless.end()) budget.mustEnd = false;
    if (budget.mustEnd) {
        budget.seconds *= 10;
    } else {
        budget.seconds *= searchEffort();
        budget.executions = static_cast<std::uint64_t>(static_cast<double>(budget.executions) * searchEffort());
    }
    return budget;
}

inline void exploreAll(const char* protocol, const std::vector<Case>& cases, const Budget& whole) {
    for (const Case& tested : cases) {
        const Budget budget = budgetFor(tested.options.name, whole);
        Options options = tested.options;
        options.search = budget.search;
        options.preemptions = budget.preemptions;
        options.executions = budget.executions;
        options.seconds = budget.seconds;
        // Too many alternatives for an exhaustive search, but not for a random one.
        options.memory.insertStores = budget.search == Search::random || budget.search == Search::pct;
        const Result result = explore(options, tested.scenario);
        EXPECT_TRUE(result.passed()) << tested.options.name << ": " << result;
        if (result.passed()) {
            EXPECT_EQ(shortfall(budget, result), "") << tested.options.name;
        }
        report(protocol, options, result);
    }
}

// Weakens every order of every atomic operation of the cases. Each survivor has a reason, and each reason a survivor.
inline void expectOrdersNeeded(const char* protocol, const std::vector<Case>& cases,
                               std::span<const Survivor> survivors, const Hunt& hunt = {}) {
    const std::vector<Twin> twins = weakenings(cases, hunt);
    report(protocol, twins);
    EXPECT_THAT(complaints(twins, survivors), testing::IsEmpty());
}

// Orders that survive alone because each suffices: together they must not.
inline void expectKilledTogether(const std::vector<Case>& cases, const std::vector<std::string_view>& names,
                                 const Hunt& hunt = {}) {
    const Twin twin = weakenedTogether(cases, names, hunt);
    report(twin);
    EXPECT_TRUE(twin.killed()) << names.front();
}

// A twin that was broken by hand: one of its cases must fail.
inline void expectKilled(const char* name, const std::vector<Case>& cases) {
    Twin twin;
    twin.name = name;
    for (const Case& broken : cases) {
        const Result result = hunt(broken);
        twin.executions += result.executions;
        if (result.passed()) continue;
        twin.killedBy = result.failure->kind;
        twin.killedIn = broken.options.name;
        break;
    }
    report(twin);
    EXPECT_TRUE(twin.killed()) << name;
}

}  // namespace weft::model
