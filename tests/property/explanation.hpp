// The search for an explanation: an order of the steps of one object's calls that its model allows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "property/call.hpp"
#include "property/model.hpp"

namespace weft::property {

enum class Explanation { found, none, gaveUp };

// Looks for an order in which each step is between the begin and the end of its call, and no step comes before one
// whose call ended before its own began. `exact`: all calls were made on one carrier, so a call that waits has queued
// before any other call began. `gaveUp`: the search became too long.
Explanation explain(const Model& initial, const std::vector<Call>& calls, bool exact);

}  // namespace weft::property
