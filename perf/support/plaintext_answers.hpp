// What the rivals that are written by hand make of HTTP: a request ends with an empty line, and /plaintext is known.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "canned_response.hpp"

namespace weft::perf {

inline constexpr std::size_t kMaxRequestHead = 16 * 1024;  // bytes

/// Appends the answer to every whole request in `input` to `output`; returns how many bytes of `input` these were.
inline std::size_t answerWhole(std::string_view input, std::string& output) {
    constexpr std::string_view kEnd = "\r\n\r\n";
    std::size_t taken = 0;
    for (std::size_t end; (end = input.find(kEnd, taken)) != std::string_view::npos; taken = end + kEnd.size())
        output.append(input.substr(taken).starts_with("GET /plaintext ") ? kCannedResponse : kNotFoundResponse);
    return taken;
}

}  // namespace weft::perf
