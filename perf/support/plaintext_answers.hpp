// The HTTP of the rivals written by hand: a request ends with an empty line, and /plaintext is the only known path.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "canned_response.hpp"

namespace weft::perf {

inline constexpr std::size_t maxRequestHead = 16 * 1024;  // bytes

// Appends the answer to each complete request in `input` to `output`; returns the number of bytes consumed.
inline std::size_t answerWhole(std::string_view input, std::string& output) {
    constexpr std::string_view headEnd = "\r\n\r\n";
    std::size_t taken = 0;
    for (std::size_t end; (end = input.find(headEnd, taken)) != std::string_view::npos; taken = end + headEnd.size())
        output.append(input.substr(taken).starts_with("GET /plaintext ") ? cannedResponse : notFoundResponse);
    return taken;
}

}  // namespace weft::perf
