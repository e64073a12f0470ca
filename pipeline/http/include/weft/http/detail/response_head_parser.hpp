// Parses the bytes of one response head into a ReceivedHead or a refusal (RFC 9110, RFC 9112; strict). A machine
// without I/O, for clients. As strict as the request parser wherever two readers could see different messages; lenient
// only about a missing reason phrase, which decides nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <weft/http/detail/request_head_parser.hpp>
#include <weft/http/limits.hpp>
#include <weft/http/received_head.hpp>
#include <weft/http/refusal.hpp>

namespace weft::http::detail {

// Parses one response head, as its bytes arrive. The verdict depends on the bytes alone, not on how they were split.
// Context: one thread at a time. Does not block; allocates only for more than HeaderTable::inlineCapacity headers.
class ResponseHeadParser {
  public:
    // Parses into `head`, which must outlive the parser. Uses requestLineBytes (for the status line),
    // headerSectionBytes and headerCount of `limits`. Throws std::invalid_argument for limits out of range.
    explicit ResponseHeadParser(ReceivedHead& head, const Limits& limits = {});

    // Prepares for the response to a request with this method. `mayUpgrade`: the request had an Upgrade header.
    void start(Method method, bool mayUpgrade) noexcept;

    // As RequestHeadParser::parse(): `message` holds all that has arrived of the message. After complete or error,
    // every further call returns the same verdict until start().
    Verdict parse(std::string_view message);

    // After Verdict::complete only. Lifetime: until start().
    const ReceivedHead& head() const noexcept { return head_; }
    // After Verdict::error only. The status is the one that a gateway may send to its own client; 431 means that
    // something is too large.
    Refusal refusal() const noexcept;

  private:
    enum class Stage : std::uint8_t { statusLine, headers, complete, error };

    bool beginsRight(std::string_view message) const noexcept;
    bool takePlainStatusLine(std::string_view message) noexcept;
    void takeStatus(int code, Version version, std::size_t lineSize) noexcept;
    Fault takeStatusLine(std::string_view line) noexcept;
    void takePlainLines(std::string_view message) noexcept;
    Fault takeField(std::string_view message, std::size_t lineEnd);
    Fault noteField(const HeaderField& field, std::string_view message) noexcept;
    Fault noteContentLength(std::string_view value) noexcept;
    Fault noteTransferEncoding(std::string_view value) noexcept;
    Verdict finish() noexcept;
    Fault decide() noexcept;
    Verdict fail(Fault fault) noexcept;

    Limits limits_;
    Stage stage_ = Stage::statusLine;
    Fault fault_{};
    Method method_ = Method::get;
    bool mayUpgrade_ = false;
    std::uint32_t seen_ = 0;        // what the header lines contain; bits of Seen
    std::size_t lineStart_ = 0;     // first byte of the current line
    std::size_t scanned_ = 0;       // no line end in [lineStart_, scanned_)
    std::size_t sectionStart_ = 0;  // first byte of the first header line
    ReceivedHead& head_;
};

}  // namespace weft::http::detail
