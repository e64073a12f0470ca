// LimitedLog: a log statement with a limit of lines per second, for faults that can occur with every message.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string_view>

#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::detail {

// Logs the first `linesPerSecond` lines of a second and counts the others; the first line of a later second reports how
// many were left out. Context: any thread. Parks no fiber: it holds its mutex only while it counts. Never throws.
class LimitedLog {
  public:
    static constexpr unsigned linesPerSecond = 10;

    LimitedLog() noexcept : LimitedLog(Clock::steady()) {}
    explicit LimitedLog(Clock& clock) noexcept : clock_(clock) {}
    LimitedLog(const LimitedLog&) = delete;
    LimitedLog& operator=(const LimitedLog&) = delete;

    void write(LogLevel level, std::initializer_list<std::string_view> parts) noexcept;

  private:
    // True when this line is to be logged; `left` is then the number of lines left out since the last logged one.
    bool admit(std::uint64_t& left) noexcept;

    Clock& clock_;
    std::mutex lock_;            // guards the members below
    TimePoint second_{};         // when the current second began
    unsigned lines_ = 0;         // logged in it
    std::uint64_t leftOut_ = 0;  // lines left out since the last logged one
};

}  // namespace weft::detail
