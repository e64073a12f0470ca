// Interprets the few header values that decide framing, routing and the life of the connection. Pure functions of texts
// that are known to be free of control characters. They never know where in a message a value was.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::http::detail {

// uri-host [":" port] with a non-empty host: reg-name without commas, IPv4 or [IPv6]; port at most 65535.
bool isAuthority(std::string_view text) noexcept;

// Decimal digits only, no leading zero (some parsers would read octal), at most 2^63 - 1.
std::optional<std::uint64_t> parseContentLength(std::string_view text) noexcept;

// notChunked: the last coding is not `chunked`, so the end of a request cannot be found (RFC 9112, 6.3). unknownCoding:
// `chunked` is last, but the codings before it are not supported.
enum class TransferEncoding : std::uint8_t { chunked, unknownCoding, notChunked, malformed };
TransferEncoding parseTransferEncoding(std::string_view text) noexcept;

struct ConnectionOptions {
    bool close = false;
    bool keepAlive = false;
    bool upgrade = false;
};
ConnectionOptions parseConnection(std::string_view text) noexcept;

// Fields that must not be trailers: framing, routing, authentication, request control (RFC 9110, 6.5.1).
bool isForbiddenTrailer(std::string_view name) noexcept;

}  // namespace weft::http::detail
