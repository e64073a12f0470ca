// What the head of one received response says: status line, header table, how its body ends. A plain value without the
// bytes. Filled in by ResponseHeadParser; all texts are offsets from the first byte of the message.
#pragma once

#include <cstdint>

#include <weft/pipeline/http/request_head.hpp>
#include <weft/pipeline/http/status.hpp>
#include <weft/pipeline/http/version.hpp>

namespace weft::http {

struct ReceivedHead {
    Status status = Status::ok;  // any code of 100-999
    Version version = Version::http11;

    // How the body ends (RFC 9112, 6.3), the request's method considered. `untilClose`: with the connection, and then
    // bodyKind is none.
    BodyKind bodyKind = BodyKind::none;
    bool untilClose = false;
    // The connection may carry another request behind this response.
    bool keepAlive = false;
    // 101 to a request for an upgrade, or 2xx to CONNECT: what follows is not HTTP.
    bool switches = false;

    std::uint32_t consumed = 0;       // bytes of the head, with the empty line after it
    std::uint64_t contentLength = 0;  // for BodyKind::length, at most 2^63 - 1
    Slice reason{};                   // may be empty
    HeaderTable headers;

    // 1xx but for a 101 that was asked for: the response itself is still to come.
    bool interim() const noexcept { return codeOf(status) < 200 && !switches; }
    // Body bytes, or the last chunk of an empty one, or the connection's end, belong to this response.
    bool hasBody() const noexcept {
        return untilClose || bodyKind == BodyKind::chunked || (bodyKind == BodyKind::length && contentLength != 0);
    }
};

}  // namespace weft::http
