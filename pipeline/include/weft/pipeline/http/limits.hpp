// What one HTTP/1.1 request may cost before its body reaches the application.
// A value that the codec hands to the parser and the body decoder; the size of the body itself is the aggregator's
// business. Every limit has a unit, a default, a reason and a range.
#pragma once

#include <cstdint>

namespace weft::http {

struct Limits {
    // Bytes of the request line without its CRLF; more is 414. 8192: RFC 9112 asks for at least 8000.
    std::uint32_t requestLineBytes = 8192;

    // Bytes of all header lines of one request with their CRLFs; more is 431. 16384: big cookies fit, floods do not.
    std::uint32_t headerSectionBytes = 16384;

    // Header lines of one request; more is 431. Only the first 32 are kept without an allocation.
    std::uint32_t headerCount = 128;

    // Bytes of one chunk-size line with its extensions, without its CRLF; more is 400. Nobody uses extensions.
    std::uint32_t chunkLineBytes = 256;

    // Bytes of chunk extensions in one body, all chunks together; more is 400. Stops a flood hidden in tiny chunks.
    std::uint32_t chunkExtensionBytes = 16384;

    // Bytes of all trailer lines of one body with their CRLFs; more is 431.
    std::uint32_t trailerSectionBytes = 8192;

    // Throws std::invalid_argument naming the limit, its value and its range when a limit is out of range.
    // Byte limits: 16 to 1 MiB, so that offsets into a message head always fit in 32 bits; headerCount: 1 to 4096.
    void validate() const;
};

}  // namespace weft::http
