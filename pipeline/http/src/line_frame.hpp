// Finds the end of one line of a message head. The order of the checks makes the verdict independent of how the bytes
// were split: first the limit, then the byte that ends the line, and only then (in the caller) the contents of the
// line.
#pragma once

#include <cstddef>
#include <string_view>

#include "byte_scan.hpp"
#include "fault.hpp"

namespace weft::http::detail {

struct LineFrame {
    std::size_t end;  // if complete: where its CRLF is; otherwise no line end precedes it
    bool complete;    // if false: see `fault`; none means that more bytes are needed
    Fault fault;
};

// Continues at `from`. `limit` bounds the bytes of the line, or the section of lines, that begins at `start`.
inline LineFrame frameLine(std::string_view message, std::size_t from, std::size_t start, std::size_t limit,
                           Fault tooLong) noexcept {
    const char* const begin = message.data();
    const char* const end = begin + message.size();
    const char* const stop = findFirst<FieldStop>(begin + from, begin, end);
    const std::size_t at = static_cast<std::size_t>(stop - begin);
    if (at - start > limit) return {at, false, tooLong};
    if (stop == end || (*stop == '\r' && stop + 1 == end)) return {at, false, Fault::none};
    if (*stop == '\r' && stop[1] == '\n') return {at, true, Fault::none};
    return {at, false,
            *stop == '\r'   ? Fault::bareCarriageReturn
            : *stop == '\n' ? Fault::bareLineFeed
                            : Fault::controlCharacter};
}

}  // namespace weft::http::detail
