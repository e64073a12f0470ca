// Characters in UTF-8, for names that a program has chosen. Private to the scheduler.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft::detail {

// The length of the character at the start of `text`, which is not empty; 0: none starts there (RFC 3629).
inline std::size_t utf8Length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    // Other second bytes would make an overlong form, a surrogate or more than U+10FFFF.
    const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < least || byte(1) > most) return 0;
    const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    for (std::size_t i = 2; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    return length;
}

// The beginning of `text`, of at most `most` bytes, that ends between two characters. Where there are none, of `most`.
inline std::string_view cutUtf8(std::string_view text, std::size_t most) noexcept {
    if (text.size() <= most) return text;
    for (std::size_t before = 1; before <= 3 && before <= most; ++before) {
        const std::size_t start = most - before;
        if (utf8Length(text.substr(start)) > before) return text.substr(0, start);
    }
    return text.substr(0, most);
}

}  // namespace weft::detail
