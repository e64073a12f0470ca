// The command line, the timing and the output of the C++ programs that measure primitives (perf/micro/run).
// Owned by main() of each program. Knows no implementation.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../../support/flags.hpp"

namespace weft::perf {

// One measurement. A primitive performs `operations`, shared by its fibers, and returns the seconds that they took.
struct Shape {
    unsigned carriers = 1;
    int fibers = 1;       // of a contended primitive; for a queue, of producers and of consumers
    bool yields = false;  // each critical section yields once
    long operations = 1;

    long each() const { return std::max(operations / fibers, 1L); }
};

struct Primitive {
    const char* name;
    std::function<double(const Shape&)> run;
};

template <class F>
double secondsOf(F&& function) {
    const auto began = std::chrono::steady_clock::now();
    std::forward<F>(function)();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Keeps the compiler from removing the computation of `value`.
template <class T>
void keep(const T& value) {
    asm volatile("" : : "g"(&value) : "memory");
}

// Repeats the primitive with more operations until one repetition takes at least half of `seconds`, and returns that
// repetition. The shorter ones before it warm up caches, stacks and pools.
inline std::pair<long, double> measured(const Primitive& primitive, Shape shape, double seconds) {
    shape.operations = 64L * shape.fibers;
    for (;;) {
        const double took = primitive.run(shape);
        const long performed = shape.each() * shape.fibers;
        if (took >= seconds / 2) return {performed, took};
        const double factor = took > 0 ? seconds / took : 100;
        shape.operations = static_cast<long>(static_cast<double>(performed) * std::clamp(factor, 1.5, 100.0)) + 1;
    }
}

// main() of a program. runtime(carriers, body) starts the runtime with so many carriers and runs `body` in a fiber of
// it.
template <class Runtime>
int measurePrimitives(int argc, char** argv, const std::vector<Primitive>& primitives, Runtime runtime) {
    Flags flags(argc, argv, "--list | --row NAME [--carriers 1] [--fibers 1] [--yield] [--milliseconds 40]");
    if (flags.present("--list")) {
        for (const Primitive& each : primitives) std::puts(each.name);
        return 0;
    }
    const std::string name = flags.requiredText("--row");
    Shape shape;
    shape.carriers = static_cast<unsigned>(flags.number("--carriers", 1, 1, 2));
    shape.fibers = static_cast<int>(flags.number("--fibers", 1, 1, 1000));
    shape.yields = flags.present("--yield");
    const double seconds = static_cast<double>(flags.number("--milliseconds", 40, 1, 60'000)) / 1000;
    flags.finish();
    const auto found =
        std::find_if(primitives.begin(), primitives.end(), [&](const auto& p) { return p.name == name; });
    if (found == primitives.end()) flags.fail("no row " + name + " (see --list)");
    std::pair<long, double> result;
    runtime(shape.carriers, [&] { result = measured(*found, shape, seconds); });
    std::printf("{\"row\": \"%s\", \"operations\": %ld, \"seconds\": %.9f}\n", found->name, result.first,
                result.second);
    return 0;
}

}  // namespace weft::perf
