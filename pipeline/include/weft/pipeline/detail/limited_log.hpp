// LimitedLog: a place in the code that logs, but only so many lines in a second: for faults that a peer or a loop can
// repeat at the rate of messages.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string_view>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::detail {

// Logs the first `linesPerSecond` lines of a second and counts the others; the first line of a later second says how
// many were left out. Context: any thread. Blocks no fiber: its mutex is held only while it counts. Never throws.
class LimitedLog {
  public:
    static constexpr unsigned linesPerSecond = 10;

    LimitedLog() noexcept : LimitedLog(Clock::steady()) {}
    explicit LimitedLog(Clock& clock) noexcept : clock_(clock) {}
    LimitedLog(const LimitedLog&) = delete;
    LimitedLog& operator=(const LimitedLog&) = delete;

    void write(LogLevel level, std::initializer_list<std::string_view> parts) noexcept;

  private:
    // Whether this line is logged; `left` is how many were not since the last one that was.
    bool admit(std::uint64_t& left) noexcept;

    Clock& clock_;
    std::mutex lock_;            // guards what follows
    TimePoint second_{};         // when the running second began
    unsigned lines_ = 0;         // in it
    std::uint64_t leftOut_ = 0;  // lines since the last one that was logged
};

}  // namespace weft::detail
