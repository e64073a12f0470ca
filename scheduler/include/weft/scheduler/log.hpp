// The log hook: the scheduler reports through it and knows no logging library. The framework room puts spdlog behind
// it.
#pragma once

#include <string_view>

namespace weft {

enum class LogLevel : unsigned char { debug, info, warning, error };

// Receives one finished message. Called from any thread; must not throw and must not suspend a fiber.
using LogSink = void (*)(LogLevel level, std::string_view message) noexcept;

// Replaces the sink (default: lines on stderr from `warning` up). Context: any thread; never blocks, allocates or
// throws.
void setLogSink(LogSink sink) noexcept;

void log(LogLevel level, std::string_view message) noexcept;

}  // namespace weft
