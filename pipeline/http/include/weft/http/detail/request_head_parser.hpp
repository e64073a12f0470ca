// Parses the bytes of one request head into a RequestHead or a refusal (RFC 9110, RFC 9112; strict). A machine without
// I/O: owned by a server codec, one per connection, reset between requests. It uses the bytes and the head during calls
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <weft/http/limits.hpp>
#include <weft/http/refusal.hpp>
#include <weft/http/request_head.hpp>

namespace weft::http::detail {

enum class Fault : std::uint8_t;

class HeaderSections;
struct HeaderSection;

enum class Verdict : std::uint8_t { needMore, complete, error };

// Parses one request head, as its bytes arrive.
//
// The verdict depends on the bytes alone, not on how they were split: a message that is refused (or accepted, with
// certain fields) as a whole is refused (or accepted, with the same fields) byte by byte. No byte is parsed more than
// three times; before that it may have been compared with the lines of an earlier request.
//
// Context: one thread at a time. Does not block; allocates only for more than HeaderTable::inlineCapacity headers, and
// once for the shared sections, and then throws std::bad_alloc.
class RequestHeadParser {
  public:
    // `limits` must outlive this parser. Throws std::invalid_argument for limits out of range.
    explicit RequestHeadParser(const Limits& limits);
    explicit RequestHeadParser(Limits&&) = delete;

    // From now on, uses header sections that other connections have parsed, unless its limits could refuse one of them:
    // another server of the carrier may allow more. `sections` must outlive this parser.
    void share(HeaderSections& sections) noexcept;

    // `message` begins with the first byte of the message and holds all that has arrived (it may hold more than the
    // head). After needMore, call again with a longer view that starts with the same bytes, at any address. After
    // complete or error, every further call returns the same verdict until reset().
    // `head`: a new object for each message, the same one in all calls for that message; valid after Verdict::complete.
    Verdict parse(std::string_view message, RequestHead& head);

    // After Verdict::error only. Send its status, then close.
    Refusal refusal() const noexcept;

    const Limits& limits() const noexcept { return limits_; }

    // Prepares for the next message.
    void reset() noexcept {
        stage_ = Stage::requestLine;
        seen_ = lineStart_ = scanned_ = 0;
    }

  private:
    enum class Stage : std::uint8_t { requestLine, headers, complete, error };

    bool frameLine(std::string_view message) noexcept;
    bool readRequestLine(std::string_view message) noexcept;
    Verdict resume(std::string_view message);
    Verdict readHeaders(std::string_view message, std::size_t at);
    std::size_t takePlainLines(std::string_view message, std::size_t at, std::size_t& faulty) noexcept;
    Verdict readLine(std::string_view message, std::size_t& at);
    Verdict refuseLine(std::string_view message, std::size_t at);
    Verdict settleLine(std::string_view message, std::size_t at, Fault fault) noexcept;
    Fault noteField(const HeaderField& field, std::string_view message) noexcept;
    Fault noteHost(Slice value, std::string_view message) noexcept;
    Fault noteContentLength(std::string_view text) noexcept;
    Fault noteTransferEncoding(std::string_view text) noexcept;
    Fault checkFraming() const noexcept;
    Verdict finish(std::string_view message, std::size_t blankLine);
    Verdict acceptPlain(RequestHead& head, std::uint32_t seen, Slice host) noexcept;
    void remember(std::string_view message, std::string_view section);
    Verdict recall(const HeaderSection& section, std::uint32_t start, RequestHead& head) noexcept;
    Verdict readSection(std::string_view message, std::uint32_t start);
    std::uint32_t takeSimilarLines(std::string_view message, std::size_t& at) noexcept;
    std::size_t readKnownLine(std::string_view message, std::uint32_t line, HeaderField& field) noexcept;
    Verdict decide() noexcept;
    Verdict fail(Fault fault) noexcept;
    Verdict pending() const noexcept;

    const Limits& limits_;
    Stage stage_ = Stage::requestLine;
    Fault fault_{};
    std::uint32_t seen_ = 0;          // what the header lines contain; bits of seen::Seen
    std::uint32_t lineStart_ = 0;     // first byte of the current line
    std::uint32_t scanned_ = 0;       // if beyond lineStart_: no line end in [lineStart_, scanned_)
    std::uint32_t sectionStart_ = 0;  // first byte of the first header line
    std::uint32_t recalled_ = 0;      // lines of section_ that the last request had, too: its first ones
    std::uint8_t restOfAdding_ = 0;   // requests until one is remembered again
    std::uint8_t similar_ = 0;        // consecutive requests with the names of section_'s lines and other values
    Slice host_{};                    // the Host value, if seen_ has sawHost
    RequestHead* head_ = nullptr;     // during a call
    HeaderSections* sections_ = nullptr;
    const HeaderSection* section_ = nullptr;  // the last one that this connection used
    const HeaderSection* whole_ = nullptr;    // section_, if the last request had all of it and nothing else
};

}  // namespace weft::http::detail
