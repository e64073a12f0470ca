// Response: an answer, or the head of a streamed one.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/http/header_list.hpp>
#include <weft/pipeline/http/status.hpp>

namespace weft::http {

// Numbers the requests of a connection from 1; names the one that a response answers.
using Ticket = std::uint64_t;
// The oldest request that has no answer yet: what a Response that was not sent by a Responder answers.
inline constexpr Ticket anyTicket = 0;

struct Response {
    Response() = default;
    explicit Response(Status itsStatus, Buffer itsBody = {}, std::string_view contentType = {})
        : status(itsStatus), body(std::move(itsBody)) {
        if (!contentType.empty()) headers.add("Content-Type", contentType);
    }

    Status status = Status::ok;
    bool keepAlive = true;   // false: close the connection after this response
    bool streamed = false;   // Content and LastContent follow; `body` is empty
    bool hasLength = false;  // streamed: the body has contentLength bytes (else it is chunked)
    std::uint64_t contentLength = 0;
    Ticket ticket = anyTicket;
    HeaderList headers;  // Content-Length, Transfer-Encoding and Connection are the codec's
    Buffer body;
};

inline Response ok(Buffer body, std::string_view contentType = "text/plain") {
    return Response(Status::ok, std::move(body), contentType);
}
Response ok(std::string_view body, std::string_view contentType = "text/plain");  // copies
// A short plain text that says what the status says.
Response error(Status status, std::string_view reason = {});
// 101 to a request with Upgrade: the connection speaks `protocol` ("websocket") behind it. See ProtocolSwitched.
Response switchTo(std::string_view protocol);

}  // namespace weft::http
