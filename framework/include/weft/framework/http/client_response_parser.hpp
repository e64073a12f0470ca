// Turns bytes into one ClientResponse or a fault (RFC 9112; strict). A machine without I/O, used by http::get().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <weft/framework/http/client_error.hpp>
#include <weft/framework/http/client_response.hpp>
#include <weft/pipeline/http/body_decoder.hpp>

namespace weft::http {

// Answers to GET only: a response of HEAD would be misread. Interim (1xx) responses are skipped. What it yields depends
// on the bytes alone, not on how they were cut.
// Context: one thread or fiber at a time. Never blocks; allocates the head's text and the body.
class ClientResponseParser {
  public:
    static constexpr std::size_t maxHeadBytes = 16 * 1024;  // of all heads of one answer, interim ones too
    static constexpr std::size_t maxHeaders = 128;

    // A body of more than `maxBodyBytes` is a fault, found at the latest with the byte that is too many.
    explicit ClientResponseParser(std::size_t maxBodyBytes) : maxBodyBytes_(maxBodyBytes) {}

    // Takes bytes up to the end of the response; returns how many. Fewer than given: the response is complete and the
    // rest is not part of it, or it has failed.
    std::size_t feed(std::string_view bytes);
    // The connection has ended: completes a body that only that ends, else a fault.
    void endOfInput();

    bool started() const noexcept { return started_; }  // a byte has come
    bool complete() const noexcept { return state_ == State::done; }
    bool failed() const noexcept { return state_ == State::failed; }
    ErrorCode fault() const noexcept { return fault_; }                    // after failed()
    std::string_view reason() const noexcept { return reason_; }           // after failed(); constant text
    // After complete(): the connection may carry another request.
    bool keepAlive() const noexcept { return keepAlive_; }
    // After complete(), once.
    ClientResponse take() { return std::move(response_); }

  private:
    enum class State : std::uint8_t { head, body, untilClose, done, failed };
    // What the header lines said about framing.
    struct Framing {
        bool hasLength = false;
        bool chunked = false;
        bool close = false;
        bool keepAlive = false;
        std::uint64_t length = 0;
    };

    std::size_t feedHead(std::string_view bytes);
    std::size_t feedBody(std::string_view bytes);
    std::size_t feedUntilClose(std::string_view bytes);
    void endHead();
    bool parseHead(Framing& framing);
    bool parseStatusLine(std::string_view line);
    bool parseField(std::string_view line, Framing& framing);
    bool noteLength(std::string_view value, Framing& framing);
    bool noteCoding(std::string_view value, Framing& framing);
    void startBody(const Framing& framing);
    bool append(std::string_view data);
    bool refuse(std::string_view reason, ClientFault fault = ClientFault::badResponse);

    const std::size_t maxBodyBytes_;
    State state_ = State::head;
    bool started_ = false;
    bool keepAlive_ = false;
    std::size_t headBytes_ = 0;  // of interim heads before this one
    BodyDecoder body_;
    ClientResponse response_;
    ErrorCode fault_;
    std::string_view reason_;
};

}  // namespace weft::http
