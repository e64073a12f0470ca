// Turns the bytes of one response into events: interim heads, the head, pieces of the body, the end (RFC 9110, RFC
// 9112; strict). A machine without I/O: under ClientCodec, and under the blocking client. Copies no body byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <weft/pipeline/http/body_decoder.hpp>
#include <weft/pipeline/http/response_head_parser.hpp>

namespace weft::http {

enum class ResponseEvent : std::uint8_t {
    interim,   // head() is a 1xx head; the response itself is still to come
    head,      // head() is the response's
    data,      // `data` are the next bytes of the body; not empty
    needMore,  // nothing more can be said about these bytes
    end,       // the response is complete; what follows is not part of it
    error,     // see refusal(); close
};

struct ResponseStep {
    ResponseEvent event;
    std::size_t consumed;   // bytes to drop from the front of the input before the next call (data among them)
    std::string_view data;  // a part of the input
};

// Decodes one response, event by event. What it yields depends on the bytes alone, not on how they were cut.
// Context: one thread at a time. Does not block; allocates only to keep trailers, or many headers.
class ResponseDecoder {
  public:
    // Throws std::invalid_argument for limits out of range. All interim heads of a response together may have
    // headerSectionBytes.
    explicit ResponseDecoder(const Limits& limits = {});

    // Begins a new response, to a request of this method; `mayUpgrade`: which had an Upgrade header.
    void start(Method method, bool mayUpgrade = false) noexcept;

    // The next event in `input`, which begins where the last call's consumed bytes ended. A head is consumed as a
    // whole: until then `input` must bring all of it that has come. After end and error the answer stays the same.
    ResponseStep decode(std::string_view input);
    // The connection has ended, and all its bytes have been decoded: `end` completes a body that only that ends, and
    // repeats itself for a complete response; anything else is `error`.
    ResponseEvent endOfInput() noexcept;

    // True once no byte of this response is missing.
    bool finished() const noexcept { return state_ == State::done; }
    bool failed() const noexcept { return state_ == State::failed; }

    // After interim and head. Lifetime: until the next decode() (interim) or start() (head).
    const ReceivedHead& head() const noexcept { return parser_.head(); }
    // After error: why. Its status is what a gateway may answer; 431 means that something is too large.
    Refusal refusal() const noexcept { return refusal_; }
    // After end. Lifetime: until start().
    const BodyDecoder& body() const noexcept { return body_; }

  private:
    enum class State : std::uint8_t { head, interim, body, untilClose, done, failed };

    ResponseStep decodeHead(std::string_view input);
    ResponseStep decodeBody(std::string_view input);
    ResponseStep fail(const Refusal& refusal, std::size_t consumed = 0) noexcept;

    const std::uint32_t mostInterimBytes_;
    ResponseHeadParser parser_;
    BodyDecoder body_;
    State state_ = State::done;
    Method method_ = Method::get;
    bool mayUpgrade_ = false;
    std::size_t interimBytes_ = 0;
    Refusal refusal_;
};

}  // namespace weft::http
