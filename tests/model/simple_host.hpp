// Base classes of the hosts of CarrierTurn. SimpleHost: without timers and statistics, which no model explores.
// NonStealingHost: also without work stealing, as Carrier is without a CarrierHelper.
#pragma once

#include <cstddef>

#include <weft/scheduler/detail/park_state.hpp>

namespace weft::model {

struct SimpleHost {
    void fireTimers() {}
    void noteDepth(std::size_t) {}
    void beginFiberRun() {}
    void endFiberRun() {}
    bool fiberRunIsOver() { return false; }
    void prefetchNext() {}
    void beforeSleep() {}
};

struct NonStealingHost : SimpleHost {
    void published() {}
    bool pull() { return false; }
    bool mustNotSleep() { return false; }
    void leavesSleep() {}
    void answer(detail::CalledBy) {}
};

}  // namespace weft::model
