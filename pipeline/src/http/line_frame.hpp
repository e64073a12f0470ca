// Finds the end of one line of a message head. The order of the checks is what makes a verdict independent of how the
// bytes were cut: first the limit, then the byte that ends the line, and only then (the caller) what the line says.
#pragma once

#include <cstddef>
#include <string_view>

#include "http/byte_scan.hpp"
#include "http/fault.hpp"

namespace weft::http::detail {

struct LineFrame {
    std::size_t end;  // the line's CRLF is here if it is complete; no line end comes before it if it is not
    bool complete;    // else: a fault, or more bytes are needed
    Fault fault;
};

// Goes on at `from`; the line, or the section of lines, whose bytes `limit` bounds begins at `start`.
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
