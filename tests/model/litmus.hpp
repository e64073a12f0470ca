// Shared by the litmus tests: a shape is a few threads on a few atomics; its outcomes are the values that the threads
// read.
#pragma once

#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atomics.hpp"
#include "explorer.hpp"

namespace weft::model::litmus {

using enum std::memory_order;

inline constexpr unsigned anyNumber = 1000;  // of preemptions

// Four variables, four registers, and the operations of the threads of a litmus test.
struct Shape {
    Atomic<int> x{0};
    Atomic<int> y{0};
    Atomic<int> z{0};
    Plain<int> data{0};
    int a = 0;
    int b = 0;
    int c = 0;
    int d = 0;
};
using Body = std::function<void(Shape&)>;

// The outcomes are a, b, c, d, as many as requested; `end` runs after the threads and may set them.
inline Scenario scenario(std::vector<Body> bodies, unsigned registers, Body end = {}) {
    return [=](ModelRun& run) {
        static constexpr const char* names[] = {"A", "B", "C", "D"};
        Shape& shape = run.make<Shape>();
        run.name({"x", "y", "z"});
        for (std::size_t i = 0; i < bodies.size(); ++i) {
            run.thread(names[i], [&shape, body = &bodies[i]] { (*body)(shape); });
        }
        run.finally([&shape, registers, end = &end] {
            if (*end) (*end)(shape);
            const int values[] = {shape.a, shape.b, shape.c, shape.d};
            if (registers == 1) observe({values[0]});
            if (registers == 2) observe({values[0], values[1]});
            if (registers == 3) observe({values[0], values[1], values[2]});
            if (registers == 4) observe({values[0], values[1], values[2], values[3]});
        });
    };
}

inline Options options(Search search = Search::depthFirst) {
    Options chosen;
    chosen.search = search;
    chosen.preemptions = anyNumber;
    chosen.memory.insertStores = true;
    return chosen;
}

// Explores twice, with every interleaving and without redundant ones: the outcomes must be the same.
inline std::set<Outcome> outcomes(const Scenario& tested) {
    const Result all = explore(options(), tested);
    const Result reduced = explore(options(Search::full), tested);
    EXPECT_TRUE(all.passed() && all.complete) << all;
    EXPECT_TRUE(reduced.passed() && reduced.complete) << reduced;
    EXPECT_EQ(all.outcomes, reduced.outcomes);
    EXPECT_LE(reduced.executions, all.executions);
    return all.outcomes;
}

inline std::set<Outcome> outcomesWithSpeculation(const Scenario& tested) {
    Options chosen = options();
    chosen.memory.speculateLoads = true;
    const Result result = explore(chosen, tested);
    EXPECT_TRUE(result.passed() && result.complete) << result;
    return result.outcomes;
}

inline std::set<Outcome> allOf(int registers) {
    std::set<Outcome> all;
    for (int bits = 0; bits < 1 << registers; ++bits) {
        Outcome outcome;
        for (int i = registers; i > 0; --i) outcome.push_back(bits >> (i - 1) & 1);
        all.insert(outcome);
    }
    return all;
}

inline std::set<Outcome> allBut(int registers, const Outcome& forbidden) {
    std::set<Outcome> all = allOf(registers);
    all.erase(forbidden);
    return all;
}

}  // namespace weft::model::litmus
