// Turns bytes into one ClientResponse or a fault. A machine without I/O, under http::Client: what a ResponseDecoder
// yields, collected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <weft/framework/http/client_error.hpp>
#include <weft/framework/http/client_response.hpp>
#include <weft/pipeline/http/header_list.hpp>
#include <weft/pipeline/http/response_decoder.hpp>

namespace weft::http {

// Interim (1xx) responses are skipped. What it yields depends on the bytes alone, not on how they were cut.
// Context: one thread or fiber at a time. Never blocks; allocates the head's text and the body.
class ClientResponseParser {
  public:
    // For the response to a request of this method. A body of more than `maxBodyBytes` is a fault, found at the latest
    // with the byte that is too many.
    explicit ClientResponseParser(std::size_t maxBodyBytes, Method method = Method::get, const Limits& limits = {});

    // Takes bytes up to the end of the response; returns how many. Fewer than given: the response is complete and the
    // rest is not part of it, or it has failed.
    std::size_t feed(std::string_view bytes);
    // The connection has ended: completes a body that only that ends, else a fault.
    void endOfInput();

    bool started() const noexcept { return started_; }  // a byte has come
    bool complete() const noexcept { return decoder_.finished() && !failed_; }
    bool failed() const noexcept { return failed_; }
    ErrorCode fault() const noexcept { return fault_; }           // after failed()
    std::string_view reason() const noexcept { return reason_; }  // after failed(); constant text
    // After complete(): the connection may carry another request.
    bool keepAlive() const noexcept { return decoder_.head().keepAlive; }
    // After complete(), once.
    ClientResponse take() { return std::move(response_); }

    // For one who takes the body piece by piece: once the head has come...
    bool headComplete() const noexcept { return inBody_ && !failed_; }
    const ClientResponse& response() const noexcept { return response_; }
    // ... the bytes that came since the last call; what was taken does not count to maxBodyBytes any more...
    Buffer takeBody() noexcept { return std::exchange(response_.body_, {}); }
    // ... and after complete() the fields behind a chunked body.
    HeaderList trailers() const;

  private:
    std::size_t feedHead(std::string_view bytes);
    std::size_t feedBody(std::string_view bytes);
    void beginBody();
    bool append(std::string_view data);
    void refuse(std::string_view reason, ClientFault fault);
    void refuse(const Refusal& refusal);

    const std::size_t maxBodyBytes_;
    bool started_ = false;
    bool failed_ = false;
    bool inBody_ = false;
    ResponseDecoder decoder_;
    ClientResponse response_;
    ErrorCode fault_;
    std::string_view reason_;
};

}  // namespace weft::http
