// /stats: the counters of every carrier as JSON.
#pragma once

#include <string>

#include <weft/scheduler/carrier_group.hpp>

namespace examples {

std::string statsJson(weft::CarrierGroup& carriers);

}  // namespace examples
