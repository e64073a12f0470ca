// Turns the bytes of one request head into a RequestHead or a refusal (RFC 9110, RFC 9112; strict).
// A machine without I/O: owned by a server codec, one per connection, reset between requests. It never keeps a pointer
// into the bytes or to the head, and it never learns where they come from or what becomes of the request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <weft/pipeline/http/limits.hpp>
#include <weft/pipeline/http/refusal.hpp>
#include <weft/pipeline/http/request_head.hpp>

namespace weft::http {

namespace detail {
enum class Fault : std::uint8_t;
}  // namespace detail

class HeaderSections;
struct HeaderSection;

enum class Verdict : std::uint8_t { needMore, complete, error };

// Parses one request head, as its bytes come in.
//
// The verdict depends on the bytes alone, never on how they were cut: a message that is refused (or accepted, with
// these fields) when it comes whole is refused (or accepted, with the same fields) when it comes byte by byte.
// No byte is looked at more than three times.
//
// Context: one thread at a time. Does not block; allocates only for more than HeaderTable::inlineCapacity headers, and
// once for the sections that it shares.
class RequestHeadParser {
  public:
    // Throws std::invalid_argument for limits out of range.
    explicit RequestHeadParser(const Limits& limits = {});

    // From now on sections that others have read need not be read again. Lifetime of `sections`: beyond this parser's.
    void share(HeaderSections& sections) noexcept { sections_ = &sections; }

    // `message` begins with the first byte of the message and holds all that has come so far (it may hold more than
    // the head). On needMore, call again with a longer view that starts with the same bytes, at any address.
    // After complete or error the answer stays the same until reset().
    // `head`: a new one for each message, the same object in all calls about it; good after Verdict::complete.
    Verdict parse(std::string_view message, RequestHead& head);

    // After Verdict::error only: answer with its status and close.
    Refusal refusal() const noexcept;

    // Makes ready for the next message.
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
    Verdict settleLine(std::string_view message, std::size_t at, detail::Fault fault) noexcept;
    detail::Fault noteField(const HeaderField& field, std::string_view message) noexcept;
    detail::Fault noteHost(Slice value, std::string_view message) noexcept;
    detail::Fault noteContentLength(std::string_view text) noexcept;
    detail::Fault noteTransferEncoding(std::string_view text) noexcept;
    detail::Fault judgeFraming() const noexcept;
    Verdict finish(std::string_view message, std::size_t blankLine);
    Verdict acceptPlain(std::uint32_t seen, Slice host) noexcept;
    void remember(std::string_view section);
    const HeaderSection* known(std::string_view rest) noexcept;
    Verdict recall(const HeaderSection& section, std::uint32_t start) noexcept;
    Verdict decide() noexcept;
    Verdict fail(detail::Fault fault) noexcept;
    Verdict pending() const noexcept;

    Limits limits_;
    Stage stage_ = Stage::requestLine;
    detail::Fault fault_{};
    std::uint32_t seen_ = 0;          // what the header lines said; bits of Seen in the .cpp
    std::uint32_t lineStart_ = 0;     // first byte of the line in work
    std::uint32_t scanned_ = 0;       // beyond lineStart_: no line end in [lineStart_, scanned_)
    std::uint32_t sectionStart_ = 0;  // first byte of the first header line
    Slice host_{};                    // the Host value, once seen_ says so
    RequestHead* head_ = nullptr;     // during a call
    HeaderSections* sections_ = nullptr;
    const HeaderSection* section_ = nullptr;  // this connection's last one
};

}  // namespace weft::http
