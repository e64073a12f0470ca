// Request methods: the common registered ones by name, every other valid token as `Method::other`. The request parser
// accepts any token; the handlers after it decide which methods are served.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::http {

enum class Method : std::uint8_t { get, head, post, put, delete_, connect, options, trace, patch, other };

namespace detail {
inline constexpr std::string_view methodNames[] = {"GET",     "HEAD",    "POST",  "PUT",   "DELETE",
                                                   "CONNECT", "OPTIONS", "TRACE", "PATCH", ""};
}

// The method as sent in a request; empty for `Method::other` (the request keeps its own text).
constexpr std::string_view nameOf(Method method) noexcept {
    return detail::methodNames[static_cast<std::uint8_t>(method)];
}

// The method with exactly this spelling (methods are case-sensitive: "get" is not GET).
constexpr Method methodOf(std::string_view token) noexcept {
    for (std::uint8_t i = 0; i < static_cast<std::uint8_t>(Method::other); ++i)
        if (nameOf(static_cast<Method>(i)) == token) return static_cast<Method>(i);
    return Method::other;
}

// False if a server that gives the method no meaning of its own must answer 501 Not Implemented.
constexpr bool isKnown(Method method) noexcept {
    return method != Method::other;
}

}  // namespace weft::http
