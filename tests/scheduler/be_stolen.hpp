// beStolen(): makes the shipped policy steal the running fiber, whatever else the machine does. For tests of what a
// fiber does away from its home.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_options.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace weft::test {

// Options for carriers that steal at once.
template <class Options>
Options stealingAtOnce(Options options, unsigned carriers) {
    options.carriers = carriers;
    options.workStealing = true;
    options.stealAge = std::chrono::microseconds(0);
    return options;
}

inline constexpr SpawnOptions mayBeStolen{.stealable = Stealable::any};
inline constexpr SpawnOptions mayStartAway{.stealable = Stealable::fresh};

// Returns on a carrier other than the fiber's home. The fiber yields to a slice that keeps the home busy until the
// fiber has continued, so only a thief can run it. Context: a fiber of stealingAtOnce() carriers, spawned with
// mayBeStolen.
inline void beStolen() {
    Carrier& home = *thisFiber::carrier();
    while (home.isCurrent()) {  // repeated if a shuffled queue runs this fiber before the long slice
        const auto goesOn = std::make_shared<std::atomic<bool>>(false);
        home.spawnDetached(
            [goesOn] {
                while (!*goesOn) std::this_thread::yield();
            },
            {.name = "long slice", .stealable = Stealable::never});
        thisFiber::yield();
        *goesOn = true;
    }
}

// Runs `body` in a fiber of `home` that may be stolen and begins at home. Blocks until it has ended.
template <class F>
void runStealableFiber(Carrier& home, F body) {
    const auto run = [body = std::move(body)] {
        thisFiber::goHome();
        body();
    };
    home.spawn(run, mayBeStolen).join();
}

}  // namespace weft::test
