// Bases for the hosts of CarrierTurn: SimpleHost for what no model explores (timers, statistics, the length of a run of
// fibers), HelpsNobody for a host that does not steal, as Carrier without a helper.
#pragma once

#include <cstddef>

#include <weft/scheduler/detail/park_state.hpp>

namespace weft::model {

struct SimpleHost {
    void fireTimers() {}
    void noteDepth(std::size_t) {}
    void beginFiberRun() {}
    void endFiberRun(unsigned) {}
    bool fiberRunIsOver() { return false; }
    void prefetchNext() {}
    void beforeSleep() {}
};

struct HelpsNobody : SimpleHost {
    void published() {}
    bool pull() { return false; }
    bool mustNotSleep() { return false; }
    void leavesSleep() {}
    void answer(detail::CalledBy) {}
};

}  // namespace weft::model
