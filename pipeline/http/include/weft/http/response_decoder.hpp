// Decodes the bytes of one response into events: interim heads, the head, pieces of the body, the end (RFC 9110, RFC
// 9112; strict). A machine without I/O, used by ClientCodec and by the blocking client. Copies no body byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <weft/http/detail/body_decoder.hpp>
#include <weft/http/detail/response_head_parser.hpp>

namespace weft::http {

enum class ResponseEvent : std::uint8_t {
    interim,   // head() is a 1xx head; the final response is still to come
    head,      // head() is the head of the final response
    data,      // `data` are the next bytes of the body; not empty
    needMore,  // the input is used up as far as possible; call again with more
    end,       // the response is complete; the bytes that follow do not belong to it
    error,     // see refusal(); close
};

struct ResponseStep {
    ResponseEvent event;
    std::size_t consumed;   // bytes to drop from the front of the input before the next call (data among them)
    std::string_view data;  // a part of the input
};

// Decodes one response, event by event. The events depend on the bytes alone, not on how they were split.
// Context: one thread at a time. Does not block. Allocates only for trailers and for more than
// HeaderTable::inlineCapacity headers.
class ResponseDecoder {
  public:
    // Parses heads into `head`, which must outlive the decoder. Throws std::invalid_argument for limits out of range.
    // headerSectionBytes also bounds all interim heads of a response together.
    explicit ResponseDecoder(ReceivedHead& head, const Limits& limits = {});

    // Begins a new response, to a request with this method. `mayUpgrade`: the request had an Upgrade header.
    void start(Method method, bool mayUpgrade = false) noexcept;

    // Returns the next event in `input`, which begins where the bytes consumed by the last call ended. A head is
    // consumed as a whole: until then `input` must contain all of it that has arrived. After end and error, every
    // further call returns the same event until start().
    ResponseStep decode(std::string_view input);
    // After `head`, in place of decode(): returns the body and completes the response if its length is known and all of
    // it is in `input`. Otherwise returns nothing and changes nothing.
    std::string_view takeWholeBody(std::string_view input) noexcept;
    // Call it when the connection has ended and all bytes have been decoded. Returns `end` if the response is complete,
    // which includes a body that only the end of the connection delimits; otherwise `error`.
    ResponseEvent endOfInput() noexcept;

    // True once no byte of this response is missing.
    bool finished() const noexcept { return state_ == State::done; }
    bool failed() const noexcept { return state_ == State::failed; }

    // After interim and head. Lifetime: until the next decode() (interim) or start() (head).
    const ReceivedHead& head() const noexcept { return parser_.head(); }
    // After error. The status is the one that a gateway may send to its own client; 431 means that something is too
    // large.
    Refusal refusal() const noexcept { return refusal_; }
    // After end. Lifetime: until start().
    const detail::BodyDecoder& body() const noexcept { return body_; }

  private:
    enum class State : std::uint8_t { head, interim, body, untilClose, done, failed };

    ResponseStep decodeHead(std::string_view input);
    ResponseStep decodeBody(std::string_view input);
    ResponseStep fail(const Refusal& refusal, std::size_t consumed = 0) noexcept;

    const std::uint32_t mostInterimBytes_;
    detail::ResponseHeadParser parser_;
    detail::BodyDecoder body_;
    State state_ = State::done;
    Method method_ = Method::get;
    bool mayUpgrade_ = false;
    std::size_t interimBytes_ = 0;
    Refusal refusal_;
};

}  // namespace weft::http
