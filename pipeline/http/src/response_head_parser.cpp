#include <weft/http/detail/response_head_parser.hpp>

#include <algorithm>

#include "character_class.hpp"
#include "fault.hpp"
#include "field_line.hpp"
#include "header_rules.hpp"
#include "known_fields.hpp"
#include "line_frame.hpp"

namespace weft::http::detail {

using namespace seen;

namespace {

constexpr std::string_view protocol = "HTTP/";
constexpr std::size_t codeStart = 9;
constexpr std::size_t reasonStart = 13;

// The three digits at `at`; 0 for anything else and for a code below 100.
int statusCodeAt(const char* at) noexcept {
    if (!is(digitChar, at[0]) || !is(digitChar, at[1]) || !is(digitChar, at[2])) return 0;
    const int code = (at[0] - '0') * 100 + (at[1] - '0') * 10 + (at[2] - '0');
    return code < 100 ? 0 : code;
}

}  // namespace

ResponseHeadParser::ResponseHeadParser(ReceivedHead& head, const Limits& limits) : limits_(limits), head_(head) {
    limits_.validate();
}

void ResponseHeadParser::start(Method method, bool mayUpgrade) noexcept {
    stage_ = Stage::statusLine;
    method_ = method;
    mayUpgrade_ = mayUpgrade;
    seen_ = 0;
    lineStart_ = scanned_ = sectionStart_ = 0;
    head_.headers.clear();
}

Refusal ResponseHeadParser::refusal() const noexcept {
    return refusalOf(fault_);
}

Verdict ResponseHeadParser::fail(Fault fault) noexcept {
    stage_ = Stage::error;
    fault_ = fault;
    return Verdict::error;
}

// Checked before anything else, so that another protocol is detected by its first bytes, however few arrive.
bool ResponseHeadParser::beginsRight(std::string_view message) const noexcept {
    const std::size_t known = std::min(message.size(), protocol.size());
    return message.substr(0, known) == protocol.substr(0, known);
}

Verdict ResponseHeadParser::parse(std::string_view message) {
    if (stage_ == Stage::complete) return Verdict::complete;
    if (stage_ == Stage::error) return Verdict::error;
    if (!takePlainStatusLine(message) && !beginsRight(message)) return fail(Fault::notHttp);
    for (;;) {
        if (stage_ == Stage::headers && scanned_ == lineStart_) {
            takePlainLines(message);
            // The empty line, within the limit; anything else is for frameLine() to decide.
            if (message.size() - lineStart_ >= 2 && load<std::uint16_t>(message.data() + lineStart_) == crlf &&
                lineStart_ - sectionStart_ <= limits_.headerSectionBytes) {
                return finish();
            }
        }
        const bool headers = stage_ == Stage::headers;
        const auto line = frameLine(message, scanned_, headers ? sectionStart_ : lineStart_,
                                    headers ? limits_.headerSectionBytes : limits_.requestLineBytes,
                                    headers ? Fault::headerSectionTooLarge : Fault::statusLineTooLong);
        if (line.fault != Fault::none) return fail(line.fault);
        scanned_ = line.end;
        if (!line.complete) return Verdict::needMore;
        if (headers && line.end == lineStart_) return finish();
        const Fault fault = headers ? takeField(message, line.end) : takeStatusLine(message.substr(0, line.end));
        if (fault != Fault::none) return fail(fault);
        lineStart_ = scanned_ = line.end + 2;
        if (!headers) sectionStart_ = lineStart_;
        stage_ = Stage::headers;
    }
}

// The fast path for nearly all status lines, "HTTP/1.1 200 OK" with CRLF. The caller accepts the same lines with the
// same result; false decides nothing.
bool ResponseHeadParser::takePlainStatusLine(std::string_view message) noexcept {
    if (stage_ != Stage::statusLine || message.size() < reasonStart) return false;
    const char* const begin = message.data();
    const char* const end = begin + message.size();
    const int code = statusCodeAt(begin + codeStart);
    if (load<std::uint64_t>(begin) != word<std::uint64_t>("HTTP/1.1") || begin[8] != ' ' || code == 0 ||
        begin[reasonStart - 1] != ' ') {
        return false;
    }
    const char* const stop = findFirst<FieldStop>(begin + reasonStart, begin, end);
    const auto size = static_cast<std::size_t>(stop - begin);
    if (end - stop < 2 || load<std::uint16_t>(stop) != crlf || size > limits_.requestLineBytes) return false;
    takeStatus(code, Version::http11, size);
    lineStart_ = scanned_ = sectionStart_ = size + 2;
    stage_ = Stage::headers;
    return true;
}

void ResponseHeadParser::takeStatus(int code, Version version, std::size_t lineSize) noexcept {
    head_.status = static_cast<Status>(code);
    head_.version = version;
    const std::size_t reason = std::min(lineSize, reasonStart);
    head_.reason = {static_cast<std::uint32_t>(reason), static_cast<std::uint32_t>(lineSize - reason)};
}

// "HTTP/1.1 200 OK". The reason may be missing, and then also the blank before it.
Fault ResponseHeadParser::takeStatusLine(std::string_view line) noexcept {
    const auto digit = [&](std::size_t at) { return is(digitChar, line[at]); };
    if (line.size() < 12 || !digit(5) || line[6] != '.' || !digit(7) || line[8] != ' ') return Fault::badStatusLine;
    if (!digit(9) || !digit(10) || !digit(11) || (line.size() > 12 && line[12] != ' ')) return Fault::badStatusLine;
    if (line[5] != '1') return Fault::unsupportedVersion;
    const int code = statusCodeAt(line.data() + codeStart);
    if (code == 0) return Fault::badStatusLine;
    takeStatus(code, line[7] == '0' ? Version::http10 : Version::http11, line.size());
    return Fault::none;
}

// Takes header lines while they are plain. The first other line (or the empty line) is left to the caller, and so is a
// line with a fault, which the caller reports: noteField() returns the same fault for it again.
void ResponseHeadParser::takePlainLines(std::string_view message) noexcept {
#if defined(__SSE2__)
    if (message.size() < plainLineBytes) return;
    const std::size_t lastBlock = message.size() - plainLineBytes;
    const std::span<HeaderField> room = head_.headers.inlineRoom(limits_.headerCount);
    const char* const begin = message.data();
    std::size_t at = lineStart_;
    std::size_t taken = 0;
    while (at <= lastBlock && taken != room.size()) {
        HeaderField& field = room[taken];
        const char* const cr = scanPlainLine(begin, at, lastBlock, field);
        if (cr == nullptr) break;
        const auto end = static_cast<std::size_t>(cr - begin);
        if (end - sectionStart_ > limits_.headerSectionBytes) break;
        if (mayBeKnown(begin + at, field.name.size) && noteField(field, message) != Fault::none) break;
        ++taken;
        at = end + 2;
    }
    head_.headers.added(static_cast<std::ptrdiff_t>(taken));
    lineStart_ = scanned_ = at;
#else
    static_cast<void>(message);
#endif
}

Fault ResponseHeadParser::takeField(std::string_view message, std::size_t lineEnd) {
    const char* const begin = message.data();
    FieldLine line;
    if (!scanFieldLine(begin + lineStart_, begin, begin + lineEnd + 2, line)) {
        return explainFieldLine(message.substr(lineStart_, lineEnd - lineStart_));
    }
    if (head_.headers.size() == limits_.headerCount) return Fault::tooManyHeaders;
    const auto slice = [begin](const char* from, const char* to) {
        return Slice{static_cast<std::uint32_t>(from - begin), static_cast<std::uint32_t>(to - from)};
    };
    const HeaderField field{slice(begin + lineStart_, line.nameEnd), slice(line.value, line.valueEnd)};
    head_.headers.add(field);
    return noteField(field, message);
}

// A fault leaves seen_ unchanged.
Fault ResponseHeadParser::noteField(const HeaderField& field, std::string_view message) noexcept {
    const std::string_view value = field.value.in(message);
    switch (knownField(message.data() + field.name.offset, field.name.size)) {
        case KnownField::contentLength: return noteContentLength(value);
        case KnownField::transferEncoding: return noteTransferEncoding(value);
        case KnownField::connection: {
            const ConnectionOptions options = parseConnection(value);
            seen_ |= (options.close ? optionClose : 0U) | (options.keepAlive ? optionKeepAlive : 0U);
            return Fault::none;
        }
        case KnownField::nameless: return Fault::emptyName;
        default: return Fault::none;
    }
}

Fault ResponseHeadParser::noteContentLength(std::string_view value) noexcept {
    if ((seen_ & sawContentLength) != 0) return Fault::duplicateContentLength;
    const auto length = parseContentLength(value);
    if (!length) return Fault::badContentLength;
    seen_ |= sawContentLength;
    head_.contentLength = *length;
    return Fault::none;
}

Fault ResponseHeadParser::noteTransferEncoding(std::string_view value) noexcept {
    if ((seen_ & sawTransferEncoding) != 0) return Fault::duplicateTransferEncoding;
    const TransferEncoding coding = parseTransferEncoding(value);
    if (coding == TransferEncoding::malformed) return Fault::badTransferEncoding;
    if (coding == TransferEncoding::notChunked) return Fault::codingNotChunked;
    if (coding == TransferEncoding::unknownCoding) return Fault::unknownTransferCoding;
    seen_ |= sawTransferEncoding;
    return Fault::none;
}

Verdict ResponseHeadParser::finish() noexcept {
    if (const Fault fault = decide(); fault != Fault::none) return fail(fault);
    head_.consumed = static_cast<std::uint32_t>(scanned_ + 2);
    stage_ = Stage::complete;
    return Verdict::complete;
}

// RFC 9112, 6.3. Contradictory framing is refused even where it would not matter.
Fault ResponseHeadParser::decide() noexcept {
    const bool http11 = head_.version == Version::http11;
    const bool chunked = (seen_ & sawTransferEncoding) != 0;
    const bool measured = (seen_ & sawContentLength) != 0;
    const unsigned code = codeOf(head_.status);
    if (chunked && !http11) return Fault::transferEncodingInHttp10;
    if (chunked && measured) return Fault::lengthAndTransferEncoding;
    if (head_.status == Status::switchingProtocols && !mayUpgrade_) return Fault::unrequestedSwitch;
    head_.switches =
        head_.status == Status::switchingProtocols || (method_ == Method::connect && code >= 200 && code < 300);
    const bool bodiless = head_.switches || neverHasBody(head_.status) || method_ == Method::head;
    head_.bodyKind = bodiless   ? BodyKind::none
                     : chunked  ? BodyKind::chunked
                     : measured ? BodyKind::length
                                : BodyKind::none;
    head_.untilClose = !bodiless && !chunked && !measured;
    head_.keepAlive = !head_.untilClose && (seen_ & optionClose) == 0 && (http11 || (seen_ & optionKeepAlive) != 0);
    if (!measured) head_.contentLength = 0;
    return Fault::none;
}

}  // namespace weft::http::detail
