// ClientResponseParser: parses bytes into one ClientResponse or a fault, without I/O. Collects the output of a
// ResponseDecoder for http::Client.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include <weft/http/client_error.hpp>
#include <weft/http/client_response.hpp>
#include <weft/http/header_list.hpp>
#include <weft/http/response_decoder.hpp>

namespace weft::http {

// Skips interim (1xx) responses. The result depends only on the bytes, not on how they were split.
// Context: one thread or fiber at a time. Never blocks; allocates the head's text and the body.
class ClientResponseParser {
  public:
    // Parses the response to a request with this method into `response`, which must be new and outlive the parser. A
    // body longer than `maxBodyBytes` is a fault, detected no later than at the first excess byte.
    ClientResponseParser(ClientResponse& response, std::size_t maxBodyBytes, Method method = Method::get,
                         const Limits& limits = {});
    ClientResponseParser(const ClientResponseParser&) = delete;
    ClientResponseParser& operator=(const ClientResponseParser&) = delete;

    // Consumes bytes up to the end of the response and returns their number. A smaller number than given means that the
    // response is complete and the rest does not belong to it, or that parsing failed.
    std::size_t feed(std::string_view bytes);
    // The connection has ended. No effect after complete(). Completes a body that only the end of the connection
    // delimits; any other response that is not complete becomes ClientFault::endedEarly.
    void endOfInput();

    bool started() const noexcept { return started_; }  // at least one byte has arrived
    bool complete() const noexcept { return decoder_.finished() && !failed_; }
    bool failed() const noexcept { return failed_; }
    ErrorCode fault() const noexcept { return fault_; }           // after failed()
    std::string_view reason() const noexcept { return reason_; }  // after failed(); constant text
    // After complete(): the connection may carry another request.
    bool keepAlive() const noexcept { return decoder_.head().keepAlive; }
    // For reading the body in pieces: true once the head is complete, until parsing fails.
    bool headComplete() const noexcept { return inBody_ && !failed_; }
    // Of the response, also after a fault of its body; Status{} before its head is complete.
    Status status() const noexcept { return inBody_ ? response_.status() : Status{}; }
    // The body bytes since the last call. They no longer count towards maxBodyBytes, but a Content-Length above
    // maxBodyBytes is a fault all the same.
    Buffer takeBody() noexcept { return std::exchange(response_.body_, {}); }
    // After complete(): the trailer fields of a chunked body; null if there are none.
    std::unique_ptr<HeaderList> trailers() const { return decoder_.body().trailerList(); }

  private:
    std::size_t feedHead(std::string_view bytes);
    std::size_t keepHead(std::string_view arrived, std::size_t headSize);
    std::size_t feedBody(std::string_view bytes);
    void refuse(std::string_view reason, ClientFault fault);
    void refuse(const Refusal& refusal);

    const std::size_t maxBodyBytes_;
    bool started_ = false;
    bool failed_ = false;
    bool inBody_ = false;
    ClientResponse& response_;
    ResponseDecoder decoder_;
    ErrorCode fault_;
    std::string_view reason_;
};

}  // namespace weft::http
