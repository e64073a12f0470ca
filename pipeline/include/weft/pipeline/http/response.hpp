// Response: an answer, or the head of a streamed one.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/http/header_list.hpp>
#include <weft/pipeline/http/status.hpp>

namespace weft::http {

class Request;

// Numbers the requests of a connection from 1; names the one that a response answers.
using Ticket = std::uint64_t;
// Names none. On its way out a message without a ticket is about the request that is being delivered: see Response.
inline constexpr Ticket noTicket = 0;

namespace detail {
struct Tickets;
}

// Which request it answers: the one that Responder::send() is for, or that to() has named; else the request that the
// codec is delivering while the response is written, in channelRead() of the request, its Content or its LastContent.
// A response that names no request and is written at any other time, from a fiber, a timer or a promise's listener, is
// refused: its promise fails, or a warning is logged, and the request stays unanswered.
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
    HeaderList headers;  // Content-Length, Transfer-Encoding and Connection are the codec's
    Buffer body;

    // Makes this the answer to `request`, for responses that are written while another request may be delivered, or
    // that pass a handler which holds writes back (ChunkedWriteHandler). From here on `request` may be dropped: this
    // response is its answer, and must be written. Include weft/pipeline/http/request.hpp.
    Response& to(const Request& request) & noexcept;
    Response&& to(const Request& request) && noexcept;

  private:
    friend struct detail::Tickets;
    Ticket ticket_ = noTicket;
    bool hasWriter_ = false;  // streamed: a BodyWriter names the request with each piece
};

namespace detail {

// For codecs and responders.
struct Tickets {
    static Ticket of(const Response& response) noexcept { return response.ticket_; }
    static void set(Response& response, Ticket ticket) noexcept { response.ticket_ = ticket; }
    static bool hasWriter(const Response& response) noexcept { return response.hasWriter_; }
    static void setHasWriter(Response& response) noexcept { response.hasWriter_ = true; }
};

}  // namespace detail

inline Response ok(Buffer body, std::string_view contentType = "text/plain") {
    return Response(Status::ok, std::move(body), contentType);
}
Response ok(std::string_view body, std::string_view contentType = "text/plain");  // copies
// A short plain text that says what the status says.
Response error(Status status, std::string_view reason = {});
// 101 to a request with Upgrade: the connection speaks `protocol` ("websocket") behind it. See ProtocolSwitched.
Response switchTo(std::string_view protocol);

}  // namespace weft::http
