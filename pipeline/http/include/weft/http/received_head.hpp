// ReceivedHead: the parsed head of one response: status line, header table, how the body ends. A plain value without
// the bytes. Filled in by ResponseHeadParser. All texts are offsets from the first byte of the message.
#pragma once

#include <cstdint>

#include <weft/http/request_head.hpp>
#include <weft/http/status.hpp>
#include <weft/http/version.hpp>

namespace weft::http {

struct ReceivedHead {
    Status status = Status::ok;  // any code of 100-999
    Version version = Version::http11;

    // How the body ends (RFC 9112, 6.3), which depends on the request's method, too. If `untilClose`, the end of the
    // connection ends it, and bodyKind is none.
    BodyKind bodyKind = BodyKind::none;
    bool untilClose = false;
    // The connection may carry another request after this response.
    bool keepAlive = false;
    // 101 to a request with Upgrade, or 2xx to CONNECT: the bytes that follow are not HTTP.
    bool switches = false;

    std::uint32_t consumed = 0;       // bytes of the head, with the empty line after it
    std::uint64_t contentLength = 0;  // for BodyKind::length, at most 2^63 - 1
    Slice reason{};                   // may be empty
    HeaderTable headers;

    // A 1xx, except a 101 that was asked for: the final response is still to come.
    bool interim() const noexcept { return codeOf(status) < 200 && !switches; }
    // Body bytes, a last chunk or the end of the connection belong to this response.
    bool hasBody() const noexcept {
        return untilClose || bodyKind == BodyKind::chunked || (bodyKind == BodyKind::length && contentLength != 0);
    }
};

}  // namespace weft::http
