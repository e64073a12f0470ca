// Checks of the arguments that an application gives to codecs and handlers.
#pragma once

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <weft/scheduler/clock.hpp>

namespace weft::detail {

// Each returns its value when it is accepted, and throws std::invalid_argument otherwise.
template <class T>
T checked(const char* who, const char* what, T value, std::type_identity_t<T> least, std::type_identity_t<T> most,
          const char* unit = "") {
    if (value >= least && value <= most) return value;
    throw std::invalid_argument(std::string(who) + ": " + what + " is " + std::to_string(value) + unit +
                                "; accepted: " + std::to_string(least) + " to " + std::to_string(most));
}

// Of a frame: 1 to 2 GiB - 1 bytes.
inline std::size_t checkedLength(const char* who, const char* what, std::size_t length) {
    return checked(who, what, length, 1, (std::size_t{2} << 30) - 1, " bytes");
}

// The message begins with `what`.
inline Duration checkedPeriod(const char* what, Duration period) {
    if (period >= Duration::zero()) return period;
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(period).count();
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(milliseconds) +
                                " ms; accepted: 0 (off) or more");
}

}  // namespace weft::detail
