// The log hook. The scheduler logs through it and depends on no logging library; the framework connects it to spdlog.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace weft {

enum class LogLevel : unsigned char { debug, info, warning, error };

// Receives one finished message, which is one line: log() escapes control characters, such as line ends in quoted
// input, as "\x0a". Called from any thread; must not throw and must not suspend a fiber.
using LogSink = void (*)(LogLevel level, std::string_view message) noexcept;

// Replaces the sink; null restores the default, which prints messages of level `warning` and above to stderr. It never
// waits for the reader of stderr: 1 MiB waits for it, further lines are dropped, and the next one tells their number.
// exit() waits 1 s for the reader. Context: any thread; never blocks, allocates or throws.
void setLogSink(LogSink sink) noexcept;

// A message with control characters is cut off after `longestLogLine` bytes. Never allocates.
void log(LogLevel level, std::string_view message) noexcept;
// Logs the concatenation of `parts`, cut off after `longestLogLine` bytes. Never allocates.
void log(LogLevel level, std::initializer_list<std::string_view> parts) noexcept;
inline constexpr std::size_t longestLogLine = 1000;

}  // namespace weft
