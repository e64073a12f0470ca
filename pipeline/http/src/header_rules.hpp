// Interprets the few header values that decide framing, routing and the life of the connection. Pure functions of texts
// that are known to be free of control characters. They never know where in a message a value was. And the bits by
// which a head parser notes what the lines contain.
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

// Of RequestHeadParser::seen_ and ResponseHeadParser::seen_. After the last line they decide the framing.
namespace seen {

enum Seen : std::uint32_t {
    sawHost = 1,
    sawEmptyHost = 2,
    sawContentLength = 4,
    sawTransferEncoding = 8,
    sawUnknownCoding = 16,
    sawExpectContinue = 32,
    sawUnknownExpect = 64,
    sawUpgrade = 128,
    optionClose = 256,
    optionKeepAlive = 512,
    optionUpgrade = 1024,
};

}  // namespace seen

}  // namespace weft::http::detail
