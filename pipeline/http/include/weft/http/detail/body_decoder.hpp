// Removes the framing of one message body: Content-Length or chunked, with extensions and trailers (RFC 9112, 6 and 7).
// A machine without I/O: owned by a codec, one per connection, started for each message. Copies no body byte, keeps no
// pointer into its input, and does not limit the size of the body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/http/header_list.hpp>
#include <weft/http/limits.hpp>
#include <weft/http/refusal.hpp>
#include <weft/http/request_head.hpp>
#include <weft/pipeline/detail/thread_cache.hpp>

namespace weft::http::detail {

enum class Fault : std::uint8_t;

enum class BodyEvent : std::uint8_t {
    data,      // `data` is the next part of the body; not empty
    needMore,  // all input is consumed, and the body is incomplete
    end,       // the body is complete; the next message begins after the consumed bytes
    error,     // see BodyDecoder::refusal(); answer and close
};

struct BodyStep {
    BodyEvent event;
    std::size_t consumed;   // bytes to drop from the front of the input before the next call (data among them)
    std::string_view data;  // a part of the input
};

// Decodes one body, event by event. The events depend on the bytes alone, not on how they were split.
//
// Context: one thread at a time. Does not block; allocates only to keep trailers. A connection makes one from the start
// of a body to its end, because most messages have none.
class BodyDecoder final : public weft::detail::InThreadCache {
  public:
    // `limits` must be valid; the parser of the head before the body has checked them.
    explicit BodyDecoder(const Limits& limits = {}) noexcept;

    // Begins a new body; `length` in bytes, for BodyKind::length.
    void start(BodyKind kind, std::uint64_t length = 0) noexcept;
    void start(const RequestHead& head) noexcept { start(head.bodyKind, head.contentLength); }

    // Returns the next event of the body in `input`, which begins where the bytes consumed by the last call ended.
    // After end and error, every further call returns the same event and consumes nothing, until start().
    BodyStep decode(std::string_view input);

    // In place of decode(): returns what is left of a body of known length, and completes it, if all of it is in
    // `input`. Otherwise returns nothing and changes nothing.
    std::string_view takeWhole(std::string_view input) noexcept;

    // True once the body is complete: at the latest with BodyEvent::end, and for a body of known length already with
    // its last data.
    bool finished() const noexcept { return state_ == State::done; }

    // After BodyEvent::error only.
    Refusal refusal() const noexcept;

    // After BodyEvent::end: the trailer fields, as slices of trailerText(). Lifetime: until start().
    std::span<const HeaderField> trailers() const noexcept { return trailers_; }
    std::string_view trailerText() const noexcept { return trailerText_; }
    // A copy of them; null if there are none.
    std::unique_ptr<HeaderList> trailerList() const;

  private:
    // clang-format off
    // What the next byte of the body belongs to.
    enum class State : std::uint8_t {
        fixed,                                                          // Content-Length: remaining_ bytes
        sizeStart, size, sizeBlank, sizeLineFeed,                       // chunk-size
        extensionStart, extensionName, extensionNameBlank,              // ; name
        valueStart, valueToken, quoted, quotedPair, valueEnd, valueBlank,  // = value
        data, dataReturn, dataLineFeed,                                 // remaining_ bytes, CR, LF
        trailer,
        done, failed,
    };
    // clang-format on

    BodyStep takeData(std::string_view input, std::size_t at) noexcept;
    void stepSizeLine(char c) noexcept;
    void stepSize(char c) noexcept;
    void stepExtension(char c) noexcept;
    void stepAfterSizeLine(char c) noexcept;
    std::size_t stepTrailer(std::string_view input, std::size_t at);
    void endTrailerLine();
    void fail(Fault fault) noexcept;

    Limits limits_;
    State state_ = State::done;
    Fault fault_{};
    std::uint64_t remaining_ = 0;         // bytes of the body (fixed) or of the chunk still to come
    std::uint32_t lineBytes_ = 0;         // of the current chunk-size line
    std::uint32_t extensionBytes_ = 0;    // of this body
    std::uint32_t trailerLineStart_ = 0;  // in trailerText_
    std::string trailerText_;
    std::vector<HeaderField> trailers_;
};

}  // namespace weft::http::detail
