// bothSwitches(): a carrier whose fibers switch directly to each other, and one whose main loop runs each slice.
#pragma once

#include <array>

#include <weft/scheduler/carrier_options.hpp>

namespace weft::test {

inline std::array<CarrierOptions, 2> bothSwitches() {
    CarrierOptions direct;
    direct.carriers = 1;
    CarrierOptions recorded = direct;
    recorded.traceEvents = 64;  // the flight recorder times each slice
    return {direct, recorded};
}

}  // namespace weft::test
