// The carriers on which the primitives of Weft run, and the loops that several of them share.
#pragma once

#include <memory>
#include <optional>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "primitives.hpp"

namespace weft::perf {

inline CarrierGroup*& carriers() {
    static CarrierGroup* group = nullptr;
    return group;
}

// Runs `body` in a fiber of a group with `count` carriers and the default options.
template <class Body>
void onCarriers(unsigned count, Body body) {
    CarrierOptions options;
    options.carriers = count;
    CarrierGroup group(options);
    carriers() = &group;
    group.carrier(0).spawn(body).join();
}

inline int inTurn(int fiber) {
    return fiber;
}

// Spawns `count` fibers and joins them. Fiber i calls body(i) on carrier place(i) modulo their number.
template <class Body>
double secondsOfFibers(int count, Body body, int (*place)(int) = inTurn) {
    return secondsOf([&] {
        std::vector<JoinHandle<void>> fibers;
        fibers.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) {
            Carrier& carrier = carriers()->carrier(static_cast<std::size_t>(place(i)) % carriers()->size());
            fibers.push_back(carrier.spawn([&body, i] { body(i); }));
        }
        for (auto& fiber : fibers) fiber.join();
    });
}

// The time of `operation`, repeated in the calling fiber.
template <class Operation>
double secondsOfEach(const Shape& shape, Operation operation) {
    return secondsOf([&] {
        for (long i = 0; i < shape.operations; ++i) operation();
    });
}

}  // namespace weft::perf
