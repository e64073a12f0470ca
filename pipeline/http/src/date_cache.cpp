#include <weft/http/date_cache.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace weft::http {

void DateCache::write(std::time_t now) noexcept {
    using namespace std::chrono;
    constexpr std::int64_t lastSecond = 253402300799;  // 9999-12-31 23:59:59
    const auto time = sys_seconds(seconds(std::clamp<std::int64_t>(now, 0, lastSecond)));
    const auto day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss clock(time - day);
    const unsigned weekday = std::chrono::weekday(day).c_encoding();
    const unsigned month = static_cast<unsigned>(date.month()) - 1;
    const auto year = static_cast<unsigned>(static_cast<int>(date.year()));

    char* const out = text_.data();
    const auto writeTwo = [](char* at, unsigned number) {
        at[0] = static_cast<char>('0' + number / 10);
        at[1] = static_cast<char>('0' + number % 10);
    };
    std::copy_n(&"SunMonTueWedThuFriSat"[std::size_t{3} * weekday], 3, out);
    writeTwo(out + 5, static_cast<unsigned>(date.day()));
    std::copy_n(&"JanFebMarAprMayJunJulAugSepOctNovDec"[std::size_t{3} * month], 3, out + 8);
    writeTwo(out + 12, year / 100);
    writeTwo(out + 14, year % 100);
    writeTwo(out + 17, static_cast<unsigned>(clock.hours().count()));
    writeTwo(out + 20, static_cast<unsigned>(clock.minutes().count()));
    writeTwo(out + 23, static_cast<unsigned>(clock.seconds().count()));
    second_ = now;
}

}  // namespace weft::http
