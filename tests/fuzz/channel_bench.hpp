// Shared by the targets over whole connections: quiet logs, output without dates.
#pragma once

#include <string>
#include <string_view>

#include <weft/scheduler/log.hpp>

namespace weft::fuzz {

inline void quietLog() {
    static const bool once = [] {
        setLogSink([](LogLevel, std::string_view) noexcept {});
        return true;
    }();
    static_cast<void>(once);
}

// Removes the only part of an answer that may differ between two runs.
inline std::string withoutDates(std::string text) {
    constexpr std::string_view name = "\r\nDate: ";
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
        text.erase(at, name.size() + 29);
    }
    return text;
}

}  // namespace weft::fuzz
