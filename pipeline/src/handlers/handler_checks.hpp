// Checks of the arguments that an application gives to the handlers of this folder.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include <weft/scheduler/clock.hpp>

namespace weft::detail {

// Returns `period` when it is 0 or more; otherwise throws std::invalid_argument with a message that begins with `what`.
inline Duration checkedPeriod(const char* what, Duration period) {
    if (period >= Duration::zero()) return period;
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(period).count();
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(milliseconds) +
                                " ms; accepted: 0 (off) or more");
}

}  // namespace weft::detail
