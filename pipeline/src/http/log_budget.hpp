// LogBudget: how many lines a carrier may log about what its applications and their peers cause at will.
#pragma once

#include <chrono>
#include <utility>

#include <weft/scheduler/errors.hpp>

namespace weft::http::detail {

// Context: one carrier.
class LogBudget {
  public:
    static constexpr unsigned linesAtOnce = 10;  // and then one a second

    // True: a line may be logged.
    bool take(std::chrono::steady_clock::time_point now) noexcept {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - counted_).count();
        if (seconds > 0) {
            counted_ = now;
            lines_ = seconds < linesAtOnce && lines_ + static_cast<unsigned>(seconds) < linesAtOnce
                         ? lines_ + static_cast<unsigned>(seconds)
                         : linesAtOnce;
        }
        if (lines_ == 0) {
            ++leftOut_;
            return false;
        }
        --lines_;
        return true;
    }
    // Lines since the last call that were not logged.
    unsigned leftOut() noexcept { return std::exchange(leftOut_, 0); }

  private:
    std::chrono::steady_clock::time_point counted_{};
    unsigned lines_ = linesAtOnce;
    unsigned leftOut_ = 0;
};

}  // namespace weft::http::detail
