#include <weft/pipeline/detail/limited_log.hpp>

#include <string>
#include <utility>

namespace weft::detail {

bool LimitedLog::admit(std::uint64_t& left) noexcept {
    const TimePoint now = clock_.now();
    const std::lock_guard held(lock_);
    if (lines_ == 0 || now - second_ >= std::chrono::seconds(1)) {
        second_ = now;
        lines_ = 0;
    }
    if (lines_ == linesPerSecond) {
        ++leftOut_;
        return false;
    }
    ++lines_;
    left = std::exchange(leftOut_, 0);
    return true;
}

void LimitedLog::write(LogLevel level, std::initializer_list<std::string_view> parts) noexcept {
    std::uint64_t left = 0;
    if (!admit(left)) return;
    if (left == 0) return log(level, parts);
    try {
        std::string line;
        for (const std::string_view part : parts) line += part;
        log(level, {line, " (", std::to_string(left), " similar lines were suppressed)"});
    } catch (...) {
        log(level, parts);
    }
}

}  // namespace weft::detail
