// put(), putField(), putHeaderLines(): append texts and header lines to the bytes of a message that is being encoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "byte_scan.hpp"

namespace weft::http {
class HeaderList;
}

namespace weft::http::detail {

// Copies with a few overlapping word moves: for short header texts a library call would cost more.
template <class Word>
[[gnu::always_inline]] inline void putEnds(char* out, std::string_view text) noexcept {
    const Word tail = load<Word>(text.data() + text.size() - sizeof(Word));
    const Word front = load<Word>(text.data());
    std::memcpy(out, &front, sizeof front);
    std::memcpy(out + text.size() - sizeof tail, &tail, sizeof tail);
}

inline char* put(char* out, std::string_view text) noexcept {
    struct alignas(16) Sixteen {
        std::uint64_t half[2];
    };
    const std::size_t size = text.size();
    if (size > 32) std::memcpy(out, text.data(), size);
    else if (size >= 16) putEnds<Sixteen>(out, text);
    else if (size >= 8) putEnds<std::uint64_t>(out, text);
    else if (size >= 4) putEnds<std::uint32_t>(out, text);
    else
        for (std::size_t i = 0; i < size; ++i) out[i] = text[i];
    return out + size;
}

// For a constant text, whose size the compiler knows.
template <std::size_t Size>
[[gnu::always_inline]] inline char* put(char* out, const char (&text)[Size]) noexcept {
    std::memcpy(out, text, Size - 1);
    return out + Size - 1;
}

[[gnu::always_inline]] inline char* putField(char* out, std::string_view name, std::string_view value) noexcept {
    return put(put(put(put(out, name), ": "), value), "\r\n");
}

// Writes the lines of `headers` from index `from` on, and returns where they end. `known`: headers that the encoder has
// accepted; a name that it has at the same index is not checked again. Null if there is a header that the encoder
// refuses, or a framing header or Date, of which it does more than write a line. Defined beside the encoder.
char* putHeaderLines(char* out, const HeaderList& headers, std::size_t from, const HeaderList& known) noexcept;

}  // namespace weft::http::detail
