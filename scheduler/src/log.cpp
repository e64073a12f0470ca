#include <weft/scheduler/log.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <string>

#include <weft/scheduler/detail/log_output.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

namespace weft {

namespace {

const char* nameOf(LogLevel level) noexcept {
    switch (level) {
        case LogLevel::debug: return "debug";
        case LogLevel::info: return "info";
        case LogLevel::warning: return "warning";
        case LogLevel::error: break;
    }
    return "error";
}

void toStderr(LogLevel level, std::string_view message) noexcept {
    if (level < LogLevel::warning) return;
    std::array<char, longestLogLine + 20> place;  // a line of that length needs no memory, a longer one without is cut
    std::string whole;
    const auto print = [&](char* line, std::size_t size) {
        const int length = std::snprintf(line, size, "weft: %s: %.*s\n", nameOf(level),
                                         static_cast<int>(std::min(message.size(), size - 19)), message.data());
        detail::LogOutput::ofStderr().write({line, static_cast<std::size_t>(length)});
    };
    try {
        if (message.size() > longestLogLine) whole.resize(message.size() + 20);
    } catch (const std::exception&) {
    }
    whole.empty() ? print(place.data(), place.size()) : print(whole.data(), whole.size());
}

bool isControl(char c) noexcept {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// Messages quote text from outside the program, whose line ends would make one message look like several.
std::size_t escape(std::string_view message, char* out, std::size_t room) noexcept {
    constexpr char digits[] = "0123456789abcdef";
    std::size_t length = 0;
    for (const char c : message) {
        const auto byte = static_cast<unsigned char>(c);
        const char escaped[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        const std::string_view shown = isControl(c) ? std::string_view(escaped, 4) : std::string_view(&c, 1);
        if (room - length < shown.size()) break;
        length += shown.copy(out + length, shown.size());
    }
    return length;
}

std::atomic<LogSink> sink{&toStderr};

}  // namespace

void setLogSink(LogSink newSink) noexcept {
    sink.store(newSink != nullptr ? newSink : &toStderr, std::memory_order_release);
}

void log(LogLevel level, std::string_view message) noexcept {
    const NonSuspendingScope scope;
    const LogSink to = sink.load(std::memory_order_acquire);
    if (std::none_of(message.begin(), message.end(), isControl)) return to(level, message);
    char line[longestLogLine];
    to(level, std::string_view(line, escape(message, line, sizeof line)));
}

void log(LogLevel level, std::initializer_list<std::string_view> parts) noexcept {
    char line[longestLogLine];
    std::size_t length = 0;
    for (const std::string_view part : parts) length += part.copy(line + length, sizeof line - length);
    log(level, std::string_view(line, length));
}

}  // namespace weft
