// Writes response heads and chunk framing into memory of the caller (RFC 9110, RFC 9112).
// Free functions used by the server codec. They decide the framing headers, refuse headers that could split a response,
// and never see a body or a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <weft/pipeline/http/method.hpp>
#include <weft/pipeline/http/request_head.hpp>
#include <weft/pipeline/http/status.hpp>
#include <weft/pipeline/http/version.hpp>

namespace weft::http {

struct HeaderView {
    std::string_view name;
    std::string_view value;
};

// What to say, and to which request.
struct ResponseHead {
    Status status = Status::ok;
    // The application's headers. Content-Length, Transfer-Encoding and (but for 101) Connection are the encoder's.
    std::span<const HeaderView> headers = {};
    // `length`: contentLength bytes follow. `chunked`: of unknown length. `none`: empty, and for HEAD and 304:
    // unknown.
    BodyKind body = BodyKind::length;
    std::uint64_t contentLength = 0;
    // The value of the Date header (DateCache); empty: none. A Date among `headers` goes before it.
    std::string_view date = {};
    Version requestVersion = Version::http11;
    Method requestMethod = Method::get;
    // Whether the server would keep the connection; the answer is in EncodedHead.
    bool keepAlive = true;
};

enum class EncodeError : std::uint8_t {
    none,
    badStatus,         // not 100-999
    badHeaderName,     // not a token
    badHeaderValue,    // CR, LF, NUL or another control character
    reservedHeader,    // a header that only the encoder may write
    interimForHttp10,  // 1xx to an HTTP/1.0 client, who would take it for the response
    unaskedSwitch,     // 101 to a request that asked for no upgrade; ServerCodec says it, encodeHead() never does
    badTrailer,        // a field that must not come behind a body (RFC 9110, 6.5.1)
    tooSmall,          // less room than headBound()
};

// A constant text for exceptions and the log.
std::string_view textOf(EncodeError error) noexcept;

// How the body has to be written after this head.
enum class BodyFraming : std::uint8_t {
    none,        // no byte may follow (1xx, 204, 205, 304, HEAD, 2xx to CONNECT that keeps the connection)
    length,      // exactly contentLength bytes
    chunked,     // chunks, then lastChunk
    untilClose,  // bytes as they are, then close: HTTP/1.0 knows no chunks, a 2xx to CONNECT no length
};

struct EncodedHead {
    EncodeError error = EncodeError::none;
    std::size_t size = 0;  // bytes written; 0 after an error
    BodyFraming framing = BodyFraming::none;
    bool keepAlive = false;  // false: close after the body
    bool switches = false;   // the connection speaks another protocol after this head: 101, or a 2xx to CONNECT
};

// Bytes of room that encodeHead() asks for: at least what it will write, and not much more.
std::size_t headBound(const ResponseHead& head) noexcept;

// Writes status line, headers and the empty line to the front of `out`, and decides the framing of the body. Nothing
// else decides it: a caller writes body bytes as EncodedHead::framing says, whatever body it holds. On an error what `out` holds is not specified.
// Does not block, allocate or throw.
EncodedHead encodeHead(const ResponseHead& head, std::span<char> out) noexcept;

// Chunk framing: head, data, chunkEnd; after the last chunk lastChunk, or what encodeLastChunk() writes.
inline constexpr std::size_t maxChunkHeadBytes = 18;
inline constexpr std::string_view chunkEnd = "\r\n";
inline constexpr std::string_view lastChunk = "0\r\n\r\n";

// Writes the head of a chunk of `size` bytes; returns its bytes. `out` has room for maxChunkHeadBytes.
// `size` is not 0: an empty chunk would end the body (asserted; writes nothing in release builds).
std::size_t writeChunkHead(std::uint64_t size, char* out) noexcept;

// Bytes of room that encodeLastChunk() asks for.
std::size_t lastChunkBound(std::span<const HeaderView> trailers) noexcept;

// Writes the last chunk with these trailer fields behind it; returns its bytes. On an error (badHeaderName,
// badHeaderValue, badTrailer, tooSmall) it sets `error`, returns 0, and what `out` holds is not specified.
std::size_t encodeLastChunk(std::span<const HeaderView> trailers, std::span<char> out, EncodeError& error) noexcept;

}  // namespace weft::http
