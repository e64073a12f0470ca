// DateCache: the current time as an IMF-fixdate ("Sun, 06 Nov 1994 08:49:37 GMT"), formatted at most once per second.
// One per carrier. The caller passes the time; the cache reads no clock.
#pragma once

#include <array>
#include <ctime>
#include <string_view>

namespace weft::http {

// Context: one thread at a time. Does not block, allocate or throw.
class DateCache {
  public:
    static constexpr std::size_t textBytes = 29;

    // The date of `now` (seconds since 1970, UTC; clamped to the years 1970-9999). Lifetime: until a call with a
    // different second.
    std::string_view at(std::time_t now) noexcept {
        if (now != second_) [[unlikely]]
            write(now);
        return {text_.data(), textBytes};
    }

  private:
    void write(std::time_t now) noexcept;

    std::time_t second_ = -1;
    std::array<char, textBytes + 1> text_ = std::to_array("Thu, 01 Jan 1970 00:00:00 GMT");
};

}  // namespace weft::http
