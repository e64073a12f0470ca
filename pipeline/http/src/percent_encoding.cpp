#include <weft/http/percent_encoding.hpp>

#include "character_class.hpp"

namespace weft::http {

std::optional<std::string> percentDecode(std::string_view text) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        if (text.size() - i < 3 || !detail::is(detail::hexChar, text[i + 1]) ||
            !detail::is(detail::hexChar, text[i + 2]))
            return std::nullopt;
        decoded += static_cast<char>(detail::hexValue(text[i + 1]) << 4 | detail::hexValue(text[i + 2]));
        i += 2;
    }
    return decoded;
}

std::string percentEncode(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF", marks = "-._~";
    std::string encoded;
    encoded.reserve(text.size());
    for (const char c : text) {
        if (detail::is(detail::letterChar, c) || detail::is(detail::digitChar, c) || marks.find(c) != marks.npos) {
            encoded += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            encoded += {'%', digits[byte >> 4], digits[byte & 15]};
        }
    }
    return encoded;
}

}  // namespace weft::http
