// The call to the backend of the rivals written by hand: a keep-alive request, and an answer delimited by its empty
// line and Content-Length.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "canned_response.hpp"

namespace weft::perf {

inline constexpr std::string_view backendRequest = "GET / HTTP/1.1\r\nHost: backend\r\n\r\n";
inline constexpr std::string_view badGatewayResponse = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";

inline bool isBackendPath(std::string_view head) {
    return head.starts_with("GET /backend ");
}

// The body of the answer in `received`; nullopt while the answer is incomplete.
inline std::optional<std::string_view> backendBody(std::string_view received) {
    constexpr std::string_view lengthField = "\r\nContent-Length: ";
    const std::size_t end = received.find("\r\n\r\n");
    const std::size_t length = received.find(lengthField);
    if (end == std::string_view::npos || length >= end) return std::nullopt;
    std::size_t size = 0;
    std::from_chars(received.data() + length + lengthField.size(), received.data() + end, size);
    const std::string_view body = received.substr(end + 4);
    if (body.size() < size) return std::nullopt;
    return body.substr(0, size);
}

// A 200 with the backend's body; 130 bytes in all when the body has 13.
inline std::string answerWithBody(std::string_view body) {
    std::string text = "HTTP/1.1 200 OK\r\n"
                       "Server: floor\r\n"
                       "Content-Type: text/plain\r\n"
                       "Date: Fri, 01 Jan 2021 00:00:00 GMT\r\n"
                       "Content-Length: ";
    text.append(std::to_string(body.size())).append("\r\n\r\n").append(body);
    return text;
}

}  // namespace weft::perf
