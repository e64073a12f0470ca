// The answer that every server of the `Hello, World!` scenarios gives: 130 bytes, so that all move the same payload.
#pragma once

#include <string_view>

namespace weft::perf {

inline constexpr std::string_view kCannedResponse =
    "HTTP/1.1 200 OK\r\n"
    "Server: floor\r\n"
    "Content-Type: text/plain\r\n"
    "Date: Fri, 01 Jan 2021 00:00:00 GMT\r\n"
    "Content-Length: 13\r\n"
    "\r\n"
    "Hello, World!";
static_assert(kCannedResponse.size() == 130);

inline constexpr std::string_view kNotFoundResponse =
    "HTTP/1.1 404 Not Found\r\n"
    "Server: floor\r\n"
    "Content-Length: 0\r\n"
    "\r\n";

}  // namespace weft::perf
