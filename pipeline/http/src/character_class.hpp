// Which bytes are allowed where in an HTTP/1.1 message (RFC 9110, 5.6; RFC 3986, appendix A), as one table of bits.
// Constant data for the parsers, the body decoder and the encoders. Knows bytes, never lines.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft::http::detail {

enum CharacterClass : std::uint8_t {
    tokenChar = 1,    // tchar: methods, field names, chunk extension names
    fieldChar = 2,    // allowed in a field value: HTAB, SP, visible, obs-text
    targetChar = 4,   // allowed in a request-target: visible ASCII without '#'
    hostChar = 8,     // reg-name without the comma (a merged list of two hosts must not pass for one) and without '%'
    schemeChar = 16,  // scheme after its first letter
    digitChar = 32,
    hexChar = 64,
    letterChar = 128,
};

constexpr std::array<std::uint8_t, 256> makeCharacterTable() {
    std::array<std::uint8_t, 256> table{};
    const auto mark = [&table](std::string_view characters, unsigned bits) {
        for (const char c : characters) table[static_cast<unsigned char>(c)] |= static_cast<std::uint8_t>(bits);
    };
    mark("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", tokenChar | hostChar | schemeChar | letterChar);
    mark("0123456789", tokenChar | hostChar | schemeChar | digitChar | hexChar);
    mark("ABCDEFabcdef", hexChar);
    mark("!#$%&'*+-.^_`|~", tokenChar);
    mark("-._~!$&'()*+;=", hostChar);
    mark("+-.", schemeChar);
    for (unsigned c = 0x20; c < 0x100; ++c)
        if (c != 0x7f) table[c] |= fieldChar;
    table['\t'] |= fieldChar;
    for (unsigned c = 0x21; c < 0x7f; ++c)
        if (c != '#') table[c] |= targetChar;
    return table;
}

inline constexpr std::array<std::uint8_t, 256> characterTable = makeCharacterTable();

constexpr bool is(CharacterClass wanted, char c) noexcept {
    return (characterTable[static_cast<unsigned char>(c)] & wanted) != 0;
}

constexpr bool isBlank(char c) noexcept {
    return c == ' ' || c == '\t';
}

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

// The value of a hexadecimal digit; `c` must be one.
constexpr unsigned hexValue(char c) noexcept {
    return is(digitChar, c) ? static_cast<unsigned>(c - '0') : static_cast<unsigned>(lower(c) - 'a' + 10);
}

constexpr bool equalIgnoringCase(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (lower(a[i]) != lower(b[i])) return false;
    return true;
}

// True if `text` is not empty and all its bytes are of this class.
constexpr bool consistsOf(CharacterClass wanted, std::string_view text) noexcept {
    for (const char c : text)
        if (!is(wanted, c)) return false;
    return !text.empty();
}

constexpr std::string_view trimBlanks(std::string_view text) noexcept {
    while (!text.empty() && isBlank(text.front())) text.remove_prefix(1);
    while (!text.empty() && isBlank(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace weft::http::detail
