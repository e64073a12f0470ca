// Encodes response heads and chunk framing into memory of the caller (RFC 9110, RFC 9112). Free functions used by the
// server codec. They decide the framing headers and refuse headers that could split a response; they never see a body
// or a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <weft/http/method.hpp>
#include <weft/http/request_head.hpp>
#include <weft/http/status.hpp>
#include <weft/http/version.hpp>

namespace weft::http {

// The response head to encode, and the request that it answers.
struct ResponseHead {
    Status status = Status::ok;
    // The application's headers. The encoder writes Content-Length, Transfer-Encoding and (except with 101) Connection;
    // here they are accepted when they agree with it: the length of the body (for HEAD and 304: of the omitted body),
    // "chunked" for a chunked body, "keep-alive", which has no effect, and "close", which sets keepAlive to false.
    std::span<const HeaderView> headers = {};
    // `length`: contentLength bytes follow. `chunked`: a body of unknown length follows. `none`: no body; with HEAD and
    // 304, the length of the omitted body is unknown.
    BodyKind body = BodyKind::length;
    std::uint64_t contentLength = 0;
    // The value of the Date header (DateCache); empty: none. A Date among `headers` takes precedence.
    std::string_view date = {};
    Version requestVersion = Version::http11;
    Method requestMethod = Method::get;
    // True if the server wants to keep the connection. EncodedHead::keepAlive is the decision.
    bool keepAlive = true;
};

enum class EncodeError : std::uint8_t {
    none,
    badStatus,          // not 100-999
    badHeaderName,      // not a token
    badHeaderValue,     // CR, LF, NUL or another control character
    reservedHeader,     // Transfer-Encoding or Connection with a value that the encoder does not write
    wrongLength,        // a Content-Length that differs from the length of the body
    interimForHttp10,   // 1xx to an HTTP/1.0 client, which would take it for the final response
    unrequestedSwitch,  // 101 to a request without Upgrade; detected by ServerCodec, not by encodeHead()
    badTrailer,         // a field that must not be a trailer (RFC 9110, 6.5.1)
    tooSmall,           // less room than headBound()
};

// A constant text for exceptions and the log.
std::string_view textOf(EncodeError error) noexcept;

// How the caller must write the body after this head.
enum class BodyFraming : std::uint8_t {
    none,        // no byte may follow (1xx, 204, 205, 304, HEAD, 2xx to CONNECT that keeps the connection)
    length,      // exactly contentLength bytes
    chunked,     // chunks, then lastChunk
    untilClose,  // bytes unchanged, then close: HTTP/1.0 has no chunks, a 2xx to CONNECT no length
};

struct EncodedHead {
    EncodeError error = EncodeError::none;
    std::size_t size = 0;  // bytes written; 0 after an error
    BodyFraming framing = BodyFraming::none;
    bool keepAlive = false;  // false: close after the body
    bool switches = false;   // the connection changes its protocol after this head: 101, or a 2xx to CONNECT
};

// Bytes that encodeHead() needs in `out`: an upper bound of what it writes, and close to it.
std::size_t headBound(const ResponseHead& head) noexcept;

// Writes status line, headers and the empty line to the front of `out`, and decides the framing of the body. The caller
// must write body bytes as EncodedHead::framing says, whatever body it holds. After an error the contents of `out` are
// unspecified. Does not block, allocate or throw.
EncodedHead encodeHead(const ResponseHead& head, std::span<char> out) noexcept;

// Each chunk is a chunk head, its data and chunkEnd. The body ends with lastChunk, or with the output of
// encodeLastChunk().
inline constexpr std::size_t maxChunkHeadBytes = 18;
inline constexpr std::string_view chunkEnd = "\r\n";
inline constexpr std::string_view lastChunk = "0\r\n\r\n";

// Writes the head of a chunk of `size` bytes and returns the number of bytes written. `out` has room for
// maxChunkHeadBytes. `size` must not be 0, since an empty chunk would end the body (asserted; release builds write
// nothing).
std::size_t writeChunkHead(std::uint64_t size, char* out) noexcept;

// Bytes that encodeLastChunk() needs in `out`.
std::size_t lastChunkBound(std::span<const HeaderView> trailers) noexcept;

// Writes the last chunk with these trailer fields and returns the number of bytes written. On an error (badHeaderName,
// badHeaderValue, badTrailer, tooSmall) it sets `error` and returns 0; the contents of `out` are then unspecified.
std::size_t encodeLastChunk(std::span<const HeaderView> trailers, std::span<char> out, EncodeError& error) noexcept;

}  // namespace weft::http
