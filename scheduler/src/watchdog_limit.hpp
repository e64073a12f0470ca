// The limit of a CarrierWatchdog. Private to the scheduler.
#pragma once

#include <chrono>
#include <optional>

namespace weft::detail {

// The option, else WEFT_WATCHDOG_MS, else 0. Throws ConfigurationError. Reads the environment.
std::chrono::milliseconds watchdogLimit(const std::optional<std::chrono::milliseconds>& given);

}  // namespace weft::detail
