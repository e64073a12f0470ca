// Turns the bytes of one response head into a ReceivedHead or a refusal (RFC 9110, RFC 9112; strict). A machine without
// I/O, for clients; as strict as the parser of requests wherever two readers could see different messages, lenient only
// about a missing reason phrase, which decides nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <weft/pipeline/http/limits.hpp>
#include <weft/pipeline/http/received_head.hpp>
#include <weft/pipeline/http/refusal.hpp>
#include <weft/pipeline/http/request_head_parser.hpp>

namespace weft::http {

// Parses one response head as its bytes come in. The verdict depends on the bytes alone, never on how they were cut.
// Context: one thread at a time. Does not block; allocates only for more than HeaderTable::inlineCapacity headers.
class ResponseHeadParser {
  public:
    // Of `limits`: requestLineBytes (for the status line), headerSectionBytes, headerCount. Throws
    // std::invalid_argument for limits out of range.
    explicit ResponseHeadParser(const Limits& limits = {});

    // Makes ready for the response to a request of this method; `mayUpgrade`: which had an Upgrade header.
    void start(Method method, bool mayUpgrade) noexcept;

    // As RequestHeadParser::parse(): `message` holds all that has come of the message so far. After complete or error
    // the answer stays the same until start().
    Verdict parse(std::string_view message);

    // After Verdict::complete only. Lifetime: until start().
    const ReceivedHead& head() const noexcept { return head_; }
    // After Verdict::error only. Its status is what a gateway may answer; 431 means that something is too large.
    Refusal refusal() const noexcept;

  private:
    enum class Stage : std::uint8_t { statusLine, headers, complete, error };

    bool beginsRight(std::string_view message) const noexcept;
    detail::Fault takeStatusLine(std::string_view line) noexcept;
    detail::Fault takeField(std::string_view message, std::size_t lineEnd);
    detail::Fault noteField(std::string_view name, std::string_view value) noexcept;
    Verdict finish() noexcept;
    detail::Fault decide() noexcept;
    Verdict fail(detail::Fault fault) noexcept;

    Limits limits_;
    Stage stage_ = Stage::statusLine;
    detail::Fault fault_{};
    Method method_ = Method::get;
    bool mayUpgrade_ = false;
    std::uint32_t seen_ = 0;        // what the header lines said; bits of Seen
    std::size_t lineStart_ = 0;     // first byte of the line in work
    std::size_t scanned_ = 0;       // no line end in [lineStart_, scanned_)
    std::size_t sectionStart_ = 0;  // first byte of the first header line
    ReceivedHead head_;
};

}  // namespace weft::http
