// The log hook: the scheduler reports through it and knows no logging library. The framework room puts spdlog behind
// it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace weft {

enum class LogLevel : unsigned char { debug, info, warning, error };

// Receives one finished message. Called from any thread; must not throw and must not suspend a fiber.
using LogSink = void (*)(LogLevel level, std::string_view message) noexcept;

// Replaces the sink (default: lines on stderr from `warning` up). Context: any thread; never blocks, allocates or
// throws.
void setLogSink(LogSink sink) noexcept;

void log(LogLevel level, std::string_view message) noexcept;
// The parts, one after the other, cut off after `longestLogLine` bytes. Never allocates.
void log(LogLevel level, std::initializer_list<std::string_view> parts) noexcept;
inline constexpr std::size_t longestLogLine = 1000;

}  // namespace weft
