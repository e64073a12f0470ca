// Finds the first byte of a class, 16 bytes at a time with SSE2 (which every x86-64 has), otherwise one at a time. Used
// by the parsers, the body decoder and the encoders; knows byte classes, never lines. Never reads outside [begin, end):
// a short last block is loaded from further left, or scanned byte by byte.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "character_class.hpp"

namespace weft::http::detail {

// Unaligned loads, and texts as constants of the same type: texts that are equal in memory are equal as numbers, in
// either byte order.
template <class Word>
inline Word load(const char* at) noexcept {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

template <class Word>
constexpr Word word(const char (&text)[sizeof(Word) + 1]) noexcept {
    std::array<char, sizeof(Word)> bytes{};
    for (std::size_t i = 0; i < sizeof(Word); ++i) bytes[i] = text[i];
    return std::bit_cast<Word>(bytes);
}

inline constexpr std::uint16_t crlf = word<std::uint16_t>("\r\n");

#if defined(__SSE2__)
using Block = __m128i;
inline Block loadBlock(const char* at) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const Block*>(at));
}
inline Block every(char c) noexcept {
    return _mm_set1_epi8(c);
}
inline unsigned bits(Block marked) noexcept {
    return static_cast<unsigned>(_mm_movemask_epi8(marked));
}

// Marks the bytes of `block` in [low, low + span], compared as unsigned.
inline Block inRange(Block block, char low, char span) noexcept {
    const Block shifted = _mm_sub_epi8(block, every(low));
    return _mm_cmpeq_epi8(_mm_min_epu8(shifted, every(span)), shifted);
}
inline Block letters(Block block) noexcept {
    return inRange(_mm_or_si128(block, every(0x20)), 'a', 25);
}
#endif

// Bytes that end a field value or break a line: every control character except HTAB.
struct FieldStop {
    static bool matches(char c) noexcept { return !is(fieldChar, c); }
#if defined(__SSE2__)
    static unsigned mask(Block block) noexcept {
        const Block low = _mm_cmpeq_epi8(_mm_min_epu8(block, every(0x1f)), block);
        const Block control = _mm_andnot_si128(_mm_cmpeq_epi8(block, every('\t')), low);
        return bits(_mm_or_si128(control, _mm_cmpeq_epi8(block, every(0x7f))));
    }
#endif
};

#if defined(__SSE2__)
// FieldStop plus HTAB: two instructions shorter, for values where HTAB may lead to the slow path.
struct ControlStop {
    static unsigned mask(Block block) noexcept {
        const Block low = _mm_cmpeq_epi8(_mm_min_epu8(block, every(0x1f)), block);
        return bits(_mm_or_si128(low, _mm_cmpeq_epi8(block, every(0x7f))));
    }
};
#endif

// Bytes that end a request-target: blanks, controls, '#', everything beyond ASCII.
struct TargetStop {
    static bool matches(char c) noexcept { return !is(targetChar, c); }
#if defined(__SSE2__)
    static unsigned mask(Block block) noexcept {
        const Block visible = _mm_and_si128(_mm_cmpgt_epi8(block, every(0x20)), _mm_cmpgt_epi8(every(0x7f), block));
        return bits(_mm_andnot_si128(_mm_cmpeq_epi8(block, every('#')), visible)) ^ 0xffffU;
    }
#endif
};

// TargetStop plus '?': the end of a path.
struct PathStop {
    static bool matches(char c) noexcept { return TargetStop::matches(c) || c == '?'; }
#if defined(__SSE2__)
    static unsigned mask(Block block) noexcept {
        // '?' and DEL differ in one bit, so one comparison finds both.
        const Block ends = _mm_cmpeq_epi8(_mm_or_si128(block, every(0x40)), every(0x7f));
        const Block stops = _mm_or_si128(ends, _mm_cmpeq_epi8(block, every('#')));
        return bits(_mm_andnot_si128(stops, _mm_cmpgt_epi8(block, every(0x20)))) ^ 0xffffU;
    }
#endif
};

// Bytes other than letters and '-'. Nearly every field name stops at its colon; the caller scans the rest of others by
// table.
struct NameStop {
    static bool matches(char c) noexcept { return !is(letterChar, c) && c != '-'; }
#if defined(__SSE2__)
    static unsigned mask(Block block) noexcept {
        return bits(_mm_or_si128(letters(block), _mm_cmpeq_epi8(block, every('-')))) ^ 0xffffU;
    }
#endif
};

// Scans the last bytes, which are fewer than a block.
template <class Stop>
inline const char* findInTail(const char* at, [[maybe_unused]] const char* begin, const char* end) noexcept {
#if defined(__SSE2__)
    if (at != end && end - begin >= 16) {
        const unsigned mask = Stop::mask(loadBlock(end - 16)) >> (16 - (end - at));
        return mask != 0 ? at + std::countr_zero(mask) : end;
    }
#endif
    while (at != end && !Stop::matches(*at)) ++at;
    return at;
}

// Returns the first byte in [at, end) that Stop matches, or `end`. May also read bytes in [begin, at).
template <class Stop>
inline const char* findFirst(const char* at, const char* begin, const char* end) noexcept {
#if defined(__SSE2__)
    while (end - at >= 16) {
        const unsigned mask = Stop::mask(loadBlock(at));
        if (mask != 0) return at + std::countr_zero(mask);
        at += 16;
    }
#endif
    return findInTail<Stop>(at, begin, end);
}

// True if Stop matches no byte of `text`. For short texts in memory of their own, which findFirst would have to read
// byte by byte: here one block is built from both ends.
template <class Stop>
inline bool hasNone(std::string_view text) noexcept {
    const char* at = text.data();
    const char* const end = at + text.size();
#if defined(__SSE2__)
    if (text.size() >= 16) {
        for (; end - at > 16; at += 16)
            if (Stop::mask(loadBlock(at)) != 0) return false;
        return Stop::mask(loadBlock(end - 16)) == 0;
    }
    if (text.size() >= 8) return Stop::mask(_mm_set_epi64x(load<std::int64_t>(end - 8), load<std::int64_t>(at))) == 0;
    if (text.size() >= 4)
        return Stop::mask(_mm_set1_epi64x(static_cast<std::int64_t>(
                   load<std::uint32_t>(at) | static_cast<std::uint64_t>(load<std::uint32_t>(end - 4)) << 32))) == 0;
#endif
    while (at != end && !Stop::matches(*at)) ++at;
    return at == end;
}

inline bool isFieldValue(std::string_view text) noexcept {
    return hasNone<FieldStop>(text);
}

}  // namespace weft::http::detail
