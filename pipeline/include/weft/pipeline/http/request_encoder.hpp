// Writes request heads into memory of the caller (RFC 9110, RFC 9112). Used by the client codec; decides the framing
// headers, refuses what could split a request, and never sees a body or a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <weft/pipeline/http/response_encoder.hpp>

namespace weft::http {

// What to ask. HTTP/1.1 always.
struct OutgoingHead {
    std::string_view method = "GET";
    std::string_view target = "/";
    // The application's headers. Content-Length, Transfer-Encoding and Connection are the encoder's: `close` without
    // keepAlive, `upgrade` with an Upgrade header, `TE` with a TE header.
    std::span<const HeaderView> headers = {};
    std::string_view host = {};  // the value of Host, if it is not among the headers
    // `length`: contentLength bytes follow (written for 0 only where the method expects a body: POST, PUT, PATCH).
    BodyKind body = BodyKind::length;
    std::uint64_t contentLength = 0;
    bool keepAlive = true;
};

enum class RequestError : std::uint8_t {
    none,
    badRequestLine,  // method not a token, or a target that does not fit it
    badHost,         // none, several, or not host[:port]
    badHeaderName,
    badHeaderValue,
    reservedHeader,  // a header that only the encoder may write
    bodyNotAllowed,  // CONNECT with a body
    tooSmall,        // less room than headBound()
};

// A constant text for exceptions and the log.
std::string_view textOf(RequestError error) noexcept;

struct EncodedRequest {
    RequestError error = RequestError::none;
    std::size_t size = 0;  // bytes written; 0 after an error
    bool upgrade = false;  // it has an Upgrade header: 101 may answer it
};

// Bytes of room that encodeHead() asks for.
std::size_t headBound(const OutgoingHead& head) noexcept;

// Writes request line, headers and the empty line to the front of `out`. On an error what `out` holds is not specified.
// Does not block, allocate or throw.
EncodedRequest encodeHead(const OutgoingHead& head, std::span<char> out) noexcept;

}  // namespace weft::http
