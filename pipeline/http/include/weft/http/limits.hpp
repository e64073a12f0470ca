// Limits: bounds on the parts of one HTTP/1.1 message other than its body. A codec passes them to its head parser and
// body decoder; the aggregators bound the body. Every limit has a unit, a default, a reason and a range.
#pragma once

#include <cstdint>

namespace weft::http {

struct Limits {
    // Bytes of the request line without its CRLF; more is 414. 8192: RFC 9112 recommends at least 8000.
    std::uint32_t requestLineBytes = 8192;

    // Bytes of all header lines of one message with their CRLFs; more is 431. 16384: fits big cookies, stops floods.
    std::uint32_t headerSectionBytes = 16384;

    // Header lines of one message; more is 431. Only the first 32 need no allocation.
    std::uint32_t headerCount = 128;

    // Bytes of one chunk-size line with its extensions, without its CRLF; more is 400. 256: extensions are hardly used.
    std::uint32_t chunkLineBytes = 256;

    // Bytes of chunk extensions in one body, over all chunks; more is 400. Stops a flood hidden in tiny chunks.
    std::uint32_t chunkExtensionBytes = 16384;

    // Bytes of all trailer lines of one body with their CRLFs; more is 431.
    std::uint32_t trailerSectionBytes = 8192;

    // Throws std::invalid_argument if a limit is out of range; the text names the limit, its value and its range.
    // Byte limits: 16 to 1 MiB, so that offsets into a message head always fit in 32 bits; headerCount: 1 to 4096.
    void validate() const;
};

}  // namespace weft::http
