// Response: a complete response, or the head of a streamed one.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/http/header_list.hpp>
#include <weft/http/status.hpp>
#include <weft/pipeline/buffer.hpp>

namespace weft::http {

class Request;

// Identifies a request: the requests of a connection are numbered from 1.
using Ticket = std::uint64_t;
// Identifies no request. An outbound message without a ticket belongs to the request that is being delivered; for
// exceptions see Content.
inline constexpr Ticket noTicket = 0;

namespace detail {
struct Tickets;
}

// A response answers the request set by Responder::send() or to(). If none is set, it answers the request that the
// codec delivers while the response is written: inside channelRead() of the request, its Content or its LastContent. If
// no request is set and none is being delivered (in a fiber, a timer or the listener of a promise), the response is
// refused: its promise fails or, without a promise, a warning is logged. The request stays unanswered.
struct Response {
    Response() = default;
    explicit Response(Status status, Buffer body = {}, std::string_view contentType = {})
        : status(status), body(std::move(body)) {
        if (!contentType.empty()) headers.add("Content-Type", contentType);
    }
    // Copies the text. Throws std::bad_alloc.
    template <class Text>
    requires std::is_convertible_v<const Text&, std::string_view> Response(Status status, const Text& text,
                                                                           std::string_view contentType = "text/plain")
        : Response(status, Buffer::copyOf(text), contentType) {}

    Status status = Status::ok;
    bool keepAlive = true;  // false: close the connection after this response
    bool streamed = false;  // Content and LastContent follow; `body` is empty
    bool hasLength =
        false;  // if streamed: the body has contentLength bytes (else: chunked, or until the close for HTTP/1.0)
    std::uint64_t contentLength = 0;
    HeaderList headers;  // the codec sets Content-Length, Transfer-Encoding and Connection: see ResponseHead::headers
    Buffer body;

    // Adds a header field; a Content-Type replaces the present one. For other fields with a single value, see
    // HeaderList::set().
    Response& with(std::string_view name, std::string_view value) &;
    Response&& with(std::string_view name, std::string_view value) && { return std::move(with(name, value)); }

    // Makes this the answer to `request`. Needed for a response that is written outside of the delivery of its request,
    // or that passes a handler which holds writes back (ChunkedWriteHandler). The caller may then destroy `request`,
    // and must write this response. Include weft/http/request.hpp.
    Response& to(const Request& request) & noexcept;
    Response&& to(const Request& request) && noexcept;

  private:
    friend struct detail::Tickets;
    Ticket ticket_ = noTicket;
    bool hasWriter_ = false;  // if streamed: a BodyWriter writes the body, with a ticket in each piece
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
// A plain-text response with the status code, its phrase and `reason`.
Response error(Status status, std::string_view reason = {});
// 101 to a request with Upgrade: after it the connection uses `protocol` ("websocket"). See ProtocolSwitched.
Response switchTo(std::string_view protocol);

}  // namespace weft::http
