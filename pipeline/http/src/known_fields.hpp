// Recognises the six request headers that the parser must understand, by length and a few word comparisons, and the
// empty name, which it must refuse. Inline for the request head parser. A field name is known to be a token, so setting
// bit 0x20 is a safe way to ignore case: no other token byte becomes a letter or '-' by it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "byte_scan.hpp"

namespace weft::http::detail {

enum class KnownField : std::uint8_t {
    none,
    nameless,
    host,
    expect,
    upgrade,
    connection,
    contentLength,
    transferEncoding
};

template <class Word>
inline bool sameLetters(const char* at, Word lowerCase) noexcept {
    constexpr Word caseBits = static_cast<Word>(0x2020202020202020ULL);
    return (load<Word>(at) | caseBits) == lowerCase;
}

// False for most names that are not known, by length and first letter. True for an empty name (whose first byte is its
// colon), so that the hot loop detects it at no extra cost.
inline bool mayBeKnown(const char* name, std::size_t size) noexcept {
    static constexpr char firstLetter[32] = {':', 0, 0, 0, 'h', 0, 'e', 'u', 0, 0, 'c', 0, 0, 0, 'c', 0, 0, 't'};
    return size < 32 && (*name | 0x20) == firstLetter[size];
}

inline KnownField knownField(const char* name, std::size_t size) noexcept {
    using Half = std::uint32_t;
    using Full = std::uint64_t;
    const auto when = [](bool same, KnownField field) { return same ? field : KnownField::none; };
    switch (size) {
        case 0: return KnownField::nameless;
        case 4: return when(sameLetters(name, word<Half>("host")), KnownField::host);
        case 6:
            return when(sameLetters(name, word<Half>("expe")) && sameLetters(name + 2, word<Half>("pect")),
                        KnownField::expect);
        case 7:
            return when(sameLetters(name, word<Half>("upgr")) && sameLetters(name + 3, word<Half>("rade")),
                        KnownField::upgrade);
        case 10:
            return when(sameLetters(name, word<Full>("connecti")) && sameLetters(name + 2, word<Full>("nnection")),
                        KnownField::connection);
        case 14:
            return when(sameLetters(name, word<Full>("content-")) && sameLetters(name + 6, word<Full>("t-length")),
                        KnownField::contentLength);
        case 17:
            return when(sameLetters(name, word<Full>("transfer")) && sameLetters(name + 8, word<Full>("-encodin")) &&
                            sameLetters(name + 9, word<Full>("encoding")),
                        KnownField::transferEncoding);
        default: return KnownField::none;
    }
}

// True for common Host values: letters, digits, '.', '-', then optionally ':' and a port below 60000, in at most 16
// bytes. False decides nothing: call isAuthority(). Reads only in [begin, end).
inline bool isPlainHost([[maybe_unused]] const char* value, [[maybe_unused]] std::size_t size,
                        [[maybe_unused]] const char* begin, [[maybe_unused]] const char* end) noexcept {
#if defined(__SSE2__)
    if (size - 1 >= 16 || end - begin < 16) return false;
    const char* const at = end - value >= 16 ? value : end - 16;
    const unsigned shift = static_cast<unsigned>(value - at);
    const Block block = loadBlock(at);
    const Block digits = inRange(block, '0', 9);
    const Block marks = _mm_or_si128(_mm_cmpeq_epi8(block, every('.')), _mm_cmpeq_epi8(block, every('-')));
    const unsigned all = (1U << size) - 1;
    const unsigned name = bits(_mm_or_si128(_mm_or_si128(digits, marks), letters(block))) >> shift;
    const unsigned beyond = ~name & all;  // bytes other than host bytes: none, or the colon and more
    if (beyond == 0) return true;
    const unsigned colon = static_cast<unsigned>(std::countr_zero(beyond));
    const unsigned port = all & ~((2U << colon) - 1);
    const std::size_t portSize = size - colon - 1;
    const bool inRangeOfPorts = portSize - 1 < 4 || (portSize == 5 && value[colon + 1] < '6');
    return value[colon] == ':' && colon != 0 && inRangeOfPorts && (bits(digits) >> shift & port) == port;
#else
    return false;
#endif
}

}  // namespace weft::http::detail
