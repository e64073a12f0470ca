// HelpsNobody: answers CarrierTurn for a host that does not steal, as Carrier does without a helper.
#pragma once

#include <weft/scheduler/detail/park_state.hpp>

namespace weft::model {

struct HelpsNobody {
    void published() {}
    bool pull() { return false; }
    bool mayNotSleep() { return false; }
    void leavesSleep() {}
    void answer(detail::CalledBy) {}
};

}  // namespace weft::model
