// The meaning of the few header values that decide framing, routing and the life of the connection.
// Pure functions on texts that are already known to be free of control characters; the parser calls them line by line.
// They never know where in a message a value stood.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::http::detail {

// uri-host [":" port] with a non-empty host: reg-name without commas, IPv4 or [IPv6]; port at most 65535.
bool isAuthority(std::string_view text) noexcept;

// Decimal digits only, no leading zero (some read it as octal), at most 2^63 - 1.
std::optional<std::uint64_t> parseContentLength(std::string_view text) noexcept;

// notChunked: the last coding is another one, so that the end of a request cannot be found (RFC 9112, 6.3). unknownCoding:
// others come before it, which nobody undoes here.
enum class TransferEncoding : std::uint8_t { chunked, unknownCoding, notChunked, malformed };
TransferEncoding parseTransferEncoding(std::string_view text) noexcept;

struct ConnectionOptions {
    bool close = false;
    bool keepAlive = false;
    bool upgrade = false;
};
ConnectionOptions parseConnection(std::string_view text) noexcept;

// Fields that must not come after the body: framing, routing, authentication, request control (RFC 9110, 6.5.1).
bool isForbiddenTrailer(std::string_view name) noexcept;

}  // namespace weft::http::detail
