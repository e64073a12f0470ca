// Encodes request heads into the caller's memory (RFC 9110, RFC 9112). Used by the client codec. Decides the framing
// headers and refuses headers that could split a request; never sees a body or a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <weft/http/client_request.hpp>
#include <weft/http/response_encoder.hpp>

namespace weft::http {

// The request head to encode, always as HTTP/1.1.
struct OutgoingHead {
    std::string_view method = "GET";
    std::string_view target = "/";
    // The application's headers. The encoder writes Content-Length, Transfer-Encoding and Connection itself; Connection
    // gets `close` without keepAlive, `upgrade` with an Upgrade header, `TE` with a TE header. Accepted among these
    // headers are a Content-Length or Transfer-Encoding that agrees with the body, `Connection: keep-alive`, which is
    // ignored, and `Connection: close`, which means keepAlive = false. Other values of Connection are refused.
    std::span<const HeaderView> headers = {};
    std::string_view host = {};  // the value of Host if it is not among `headers`
    // `length`: contentLength bytes follow (a length of 0 is sent only if the method expects a body: POST, PUT, PATCH).
    // `chunked`: chunks follow. `none`: no body and no framing header.
    BodyKind body = BodyKind::length;
    std::uint64_t contentLength = 0;
    bool keepAlive = true;
};

enum class RequestError : std::uint8_t {
    none,
    badRequestLine,  // the method is not a token, or the target does not fit it
    badHost,         // no Host, several, or not host[:port]
    badHeaderName,
    badHeaderValue,
    reservedHeader,  // a Transfer-Encoding unlike the encoder's, or a Connection other than close or keep-alive
    wrongLength,     // a Content-Length that differs from the length of the body
    bodyNotAllowed,  // CONNECT with a body
    tooSmall,        // less room than headBound()
};

// A constant text for exceptions and the log.
std::string_view textOf(RequestError error) noexcept;

struct EncodedRequest {
    RequestError error = RequestError::none;
    std::size_t size = 0;   // bytes written; 0 after an error
    bool upgrade = false;   // the request has an Upgrade header: 101 may answer it
    bool keepAlive = true;  // the connection may carry another request
};

// Bytes that encodeHead() needs in `out`.
std::size_t headBound(const OutgoingHead& head) noexcept;

// Writes request line, headers and the empty line to the front of `out`. After an error the contents of `out` are
// unspecified. Does not block, allocate or throw.
EncodedRequest encodeHead(const OutgoingHead& head, std::span<char> out) noexcept;

namespace detail {

// Encodes the head of `request` into `room(bytes)`, a char*. `host`: as in OutgoingHead.
template <class Room>
EncodedRequest encodeRequest(const ClientRequest& request, std::string_view host, Room room) {
    OutgoingHead head;
    head.method = request.method;
    head.target = request.target;
    head.host = host;
    head.body = request.streamed && !request.hasLength ? BodyKind::chunked : BodyKind::length;
    head.contentLength = request.streamed ? request.contentLength : request.body.readableBytes();
    head.keepAlive = request.keepAlive;
    return request.headers.visit({}, [&](std::span<const HeaderView> headers) {
        head.headers = headers;
        const std::size_t bound = headBound(head);
        return encodeHead(head, std::span<char>(room(bound), bound));
    });
}

}  // namespace detail

}  // namespace weft::http
