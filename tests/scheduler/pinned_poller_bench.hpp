// PinnedPollerTest: the fixture of the tests of hosted pollers: one carrier, on which a test registers its poller.
#pragma once

#include <thread>

#include <weft/scheduler/carrier_group.hpp>

#include <weft/testing/leak_guard.hpp>
#include "support/loop_without_io.hpp"

namespace weft::test {

struct PinnedPollerTest : LeakGuard {
    CarrierGroup group{oneCarrier()};
    Carrier& carrier = group.carrier(0);

    // Waits until the carrier sleeps in its poller with nothing to do.
    void awaitAsleep() {
        const auto parks = carrier.spawn([this] { return carrier.stats().parks; }).join();
        while (carrier.stats().parks == parks) std::this_thread::yield();
    }
};

}  // namespace weft::test
