#include <weft/http/detail/request_head_parser.hpp>

#include <algorithm>
#include <array>
#include <cstring>

#include <weft/http/detail/header_sections.hpp>

#include "fault.hpp"
#include "field_line.hpp"
#include "header_rules.hpp"
#include "known_fields.hpp"
#include "line_frame.hpp"
#include "request_line.hpp"

namespace weft::http::detail {

using namespace seen;

namespace {

constexpr std::uint8_t learnEvery = 64;  // requests, until lines that differed are compared again

std::uint32_t connectionBits(const char* value, std::size_t size) noexcept {
    // "Keep-Alive" as a word compare: its bytes are all letters and '-', but here '\r' cannot pass for '-' either,
    // because a field value has no control characters.
    if (size == 10 && sameLetters(value, word<std::uint64_t>("keep-ali")) &&
        sameLetters(value + 2, word<std::uint64_t>("ep-alive")))
        return optionKeepAlive;
    const ConnectionOptions options = parseConnection({value, size});
    return (options.close ? optionClose : 0U) | (options.keepAlive ? optionKeepAlive : 0U) |
           (options.upgrade ? optionUpgrade : 0U);
}

// Returns what is wrong with a request line that begins with `front` and exceeds the limit: its method alone, or the
// whole line.
Fault tooLong(std::string_view front) noexcept {
    return front.find(' ') == std::string_view::npos ? Fault::methodTooLong : Fault::requestLineTooLong;
}

}  // namespace

RequestHeadParser::RequestHeadParser(const Limits& limits) : limits_(limits) {
    limits_.validate();
}

void RequestHeadParser::share(HeaderSections& sections) noexcept {
    const bool refusesNone =
        limits_.headerSectionBytes >= HeaderSection::mostBytes && limits_.headerCount >= HeaderSection::mostFields;
    sections_ = refusesNone ? &sections : nullptr;
}

Refusal RequestHeadParser::refusal() const noexcept {
    return refusalOf(fault_);
}

// The common request: HTTP/1.1, one Host, no body, a path as target. All other members keep the values of a new head.
inline Verdict RequestHeadParser::acceptPlain(RequestHead& head, std::uint32_t seen, Slice host) noexcept {
    head.keepAlive = (seen & optionClose) == 0;
    head.hasHost = true;
    head.authority = host;
    stage_ = Stage::complete;
    return Verdict::complete;
}

// Most requests of a connection repeat their header lines byte for byte, and other connections send the same lines.
// Their meaning does not depend on the bytes around them, so an equal section need not be parsed again.
// A section of which the known one has half the lines is not remembered, nor does a connection replace an entry often:
// what differs in each request would only drive out what others use.
void RequestHeadParser::remember(std::string_view message, std::string_view section) {
    constexpr std::uint8_t restBetween = 32;      // requests
    constexpr std::uint32_t longestPrefix = 255;  // bytes
    if (sections_ == nullptr || recalled_ * 2 >= head_->headers.size()) return;
    if (restOfAdding_ > 0) return void(--restOfAdding_);
    restOfAdding_ = restBetween;
    HeaderSection* const added = sections_->add(section, sectionStart_, head_->headers, host_);
    section_ = whole_ = added;
    if (added == nullptr) return;
    recalled_ = added->count;
    seen_ = 0;
    for (std::uint32_t i = 0; i < added->count; ++i) {
        static_cast<void>(noteField(head_->headers.fields()[i], message));
        added->seenAfter[i] = static_cast<std::uint16_t>(seen_);
        const HeaderField& field = added->fields[i];
        const std::uint32_t prefix = field.name.size + std::string_view(": ").size();
        const bool plain = field.value.offset == field.name.offset + prefix && prefix <= longestPrefix &&
                           !mayBeKnown(added->text.data() + field.name.offset, field.name.size);
        added->prefix[i] = plain ? static_cast<std::uint8_t>(prefix) : 0;
    }
    added->seen = seen_;
}

inline Verdict RequestHeadParser::recall(const HeaderSection& section, std::uint32_t start,
                                         RequestHead& head) noexcept {
    section.copyTo(head.headers, start, section.count);
    head.consumed = start + section.size;
    const Slice host{start + section.host.offset, section.host.size};
    if (head.version == Version::http11) [[likely]]
        return acceptPlain(head, section.seen, host);
    seen_ = section.seen;
    host_ = host;
    return decide();
}

// A section other than the one before. Of one with the lines that this connection, or now other ones, sent last, only
// the values that differ are read.
[[gnu::always_inline]] inline Verdict RequestHeadParser::readSection(std::string_view message, std::uint32_t start) {
    stage_ = Stage::headers;
    sectionStart_ = start;
    whole_ = nullptr;
    if (section_ == nullptr && sections_ != nullptr) section_ = sections_->newest();
    if (section_ == nullptr) {
        recalled_ = 0;
        return readHeaders(message, start);
    }
    const HeaderSection& section = *section_;
    recalled_ = section.commonLines(message.substr(start), recalled_);
    section.copyTo(head_->headers, start, recalled_);
    host_ = {start + section.host.offset, section.host.size};  // if it is in these lines
    std::size_t at = start + section.endOf(recalled_);
    const std::uint32_t lines = takeSimilarLines(message, at);
    if (lines != section.count || message.size() - at < 2 || load<std::uint16_t>(message.data() + at) != crlf) {
        seen_ = lines > 0 ? section.seenAfter[lines - 1] : 0;
        return readHeaders(message, at);
    }
    seen_ = section.seen;
    if (recalled_ * 2 < lines || at - start > limits_.headerSectionBytes) [[unlikely]]
        return finish(message, at);
    if (recalled_ < lines && ++similar_ % learnEvery == 0) [[unlikely]]
        recalled_ = section.countCommonLines(message.substr(start));
    if (recalled_ == lines) [[unlikely]]
        whole_ = section_;
    head_->consumed = static_cast<std::uint32_t>(at + 2);
    return head_->version == Version::http11 ? acceptPlain(*head_, seen_, host_) : decide();
}

// Takes lines from `at` on, as long as each has the name of the line of section_ at its place. Of one whose value has a
// meaning, all bytes must be the same; of others, the value needs to be plain. Returns how many lines of the section
// have been taken, those before `at` included.
[[gnu::always_inline]] inline std::uint32_t RequestHeadParser::takeSimilarLines(std::string_view message,
                                                                                std::size_t& at) noexcept {
#if defined(__SSE2__)
    if (message.size() < plainLineBytes) return recalled_;
    const HeaderSection& section = *section_;
    const std::size_t lastBlock = message.size() - plainLineBytes;
    const char* const begin = message.data();
    HeaderField* field = head_->headers.inlineRoom(HeaderSection::mostFields).data();
    const HeaderField* known = section.fields.data() + recalled_;
    const HeaderField* const knownEnd = section.fields.data() + section.count;
    const std::uint8_t* prefixes = section.prefix.data() + recalled_;
    std::size_t next = at;
    for (; known != knownEnd && next <= lastBlock; ++known, ++field) {
        const std::uint32_t prefix = *prefixes++;
        const Block name = loadBlock(section.text.data() + known->name.offset);
        const unsigned same = bits(_mm_cmpeq_epi8(loadBlock(begin + next), name));
        field->name = {static_cast<std::uint32_t>(next), prefix - 2};
        if (prefix - 1 < 16) [[likely]] {
            if ((same | ~0U << prefix) != ~0U) break;
            const char* const cr = scanPlainValue(begin, next + prefix, lastBlock, *field);
            if (cr == nullptr) break;
            next = static_cast<std::size_t>(cr + 2 - begin);
        } else {
            const std::size_t size =
                readKnownLine(message, static_cast<std::uint32_t>(known - section.fields.data()), *field);
            if (size == 0) break;
            next += size;
        }
    }
    const auto line = static_cast<std::uint32_t>(known - section.fields.data());
    head_->headers.added(line - recalled_);
    at = next;
    return line;
#else
    static_cast<void>(message);
    static_cast<void>(at);
    return recalled_;
#endif
}

#if defined(__SSE2__)
// As takeSimilarLines(), for one line, whose name is long or whose value has a meaning. `field` has its place. Returns
// the size of the line, or 0.
[[gnu::noinline]] std::size_t RequestHeadParser::readKnownLine(std::string_view message, std::uint32_t line,
                                                               HeaderField& field) noexcept {
    const HeaderField& known = section_->fields[line];
    const std::string_view whole = section_->lineOf(line), rest = message.substr(field.name.offset);
    const std::uint32_t prefix = section_->prefix[line];
    if (prefix != 0) {
        if (rest.size() <= prefix || !rest.starts_with(whole.substr(0, prefix))) return 0;
        const std::size_t value = field.name.offset + prefix;
        const char* const cr = scanPlainValue(message.data(), value, message.size() - plainLineBytes, field);
        return cr != nullptr ? static_cast<std::size_t>(cr + 2 - rest.data()) : 0;
    }
    if (!rest.starts_with(whole)) return 0;
    field.name.size = known.name.size;
    field.value = {field.name.offset + known.value.offset - known.name.offset, known.value.size};
    if (known.value.offset == section_->host.offset) host_ = field.value;
    return whole.size();
}
#endif

Verdict RequestHeadParser::parse(std::string_view message, RequestHead& head) {
    head_ = &head;
    if (stage_ == Stage::requestLine && scanned_ == 0) [[likely]] {
        const char* const begin = message.data();
        const char* const cr = scanPlainRequestLine(begin, begin, begin + message.size(), head);
        if (cr != nullptr && cr - begin <= limits_.requestLineBytes) [[likely]] {
            const auto start = static_cast<std::uint32_t>(cr + 2 - begin);
            const std::string_view rest(cr + 2, message.size() - start);
            if (whole_ != nullptr && whole_->isPrefixOf(rest)) [[likely]]
                return recall(*whole_, start, head);
            return readSection(message, start);
        }
    }
    return resume(message);
}

// All but the first attempt at a plain request: resumed lines, and lines that need the whole grammar.
Verdict RequestHeadParser::resume(std::string_view message) {
    if (stage_ == Stage::requestLine) {
        if (!readRequestLine(message)) return pending();
        stage_ = Stage::headers;
    } else if (stage_ == Stage::headers) {
        // In the middle of a line: only search for its end, and parse the line once it is complete.
        if (scanned_ > lineStart_ && !frameLine(message)) return pending();
    } else {
        return stage_ == Stage::complete ? Verdict::complete : Verdict::error;
    }
    return readHeaders(message, lineStart_);
}

Verdict RequestHeadParser::pending() const noexcept {
    return stage_ == Stage::error ? Verdict::error : Verdict::needMore;
}

Verdict RequestHeadParser::fail(Fault fault) noexcept {
    stage_ = Stage::error;
    fault_ = fault;
    return Verdict::error;
}

// Finds the end of the current line, continuing where the last call stopped. True: the line [lineStart_, scanned_) is
// complete, and its CRLF follows. False: see pending().
bool RequestHeadParser::frameLine(std::string_view message) noexcept {
    const bool headers = stage_ == Stage::headers;
    const auto line = detail::frameLine(message, std::max(lineStart_, scanned_), headers ? sectionStart_ : lineStart_,
                                        headers ? limits_.headerSectionBytes : limits_.requestLineBytes,
                                        headers ? Fault::headerSectionTooLarge : Fault::requestLineTooLong);
    if (line.fault == Fault::requestLineTooLong) {
        fail(tooLong(message.substr(lineStart_, limits_.requestLineBytes)));
    } else if (line.fault != Fault::none) {
        fail(line.fault);
    } else {
        scanned_ = static_cast<std::uint32_t>(line.end);
    }
    return line.complete;
}

bool RequestHeadParser::readRequestLine(std::string_view message) noexcept {
    if (!frameLine(message)) return false;
    if (scanned_ == 0) {
        // One empty line before the request line is ignored (RFC 9112, 2.2): old clients send one after a body.
        lineStart_ = scanned_ = 2;
        if (!frameLine(message)) return false;
    }
    Fault fault = Fault::emptyLines;
    if (scanned_ != lineStart_)
        fault = parseRequestLine(message.substr(lineStart_, scanned_ - lineStart_), lineStart_, *head_);
    if (fault != Fault::none) {
        fail(fault);
        return false;
    }
    sectionStart_ = lineStart_ = scanned_ + 2;
    return true;
}

// A fault leaves seen_ unchanged, so that a second call returns the same fault.
inline Fault RequestHeadParser::noteField(const HeaderField& field, std::string_view message) noexcept {
    const std::string_view text = field.value.in(message);
    switch (knownField(message.data() + field.name.offset, field.name.size)) {
        case KnownField::host: return noteHost(field.value, message);
        case KnownField::connection: seen_ |= connectionBits(text.data(), text.size()); break;
        case KnownField::upgrade: seen_ |= sawUpgrade; break;
        case KnownField::expect:
            seen_ |= equalIgnoringCase(text, "100-continue") ? sawExpectContinue : sawUnknownExpect;
            break;
        case KnownField::contentLength: return noteContentLength(text);
        case KnownField::transferEncoding: return noteTransferEncoding(text);
        case KnownField::nameless: return Fault::emptyName;
        case KnownField::none: break;
    }
    return Fault::none;
}

inline Fault RequestHeadParser::noteHost(Slice value, std::string_view message) noexcept {
    if ((seen_ & sawHost) != 0) return Fault::duplicateHost;
    const std::string_view text = value.in(message);
    if (!isPlainHost(text.data(), text.size(), message.data(), message.data() + message.size())) {
        if (!text.empty() && !isAuthority(text)) return Fault::badHost;
        if (text.empty()) seen_ |= sawEmptyHost;
    }
    seen_ |= sawHost;
    host_ = value;
    return Fault::none;
}

// Takes header lines while they are plain, and returns where the first other line (or the empty line) begins. `faulty`:
// where the first plain line begins whose meaning is refused, if any. The meaning is checked after the loop, which
// keeps the loop short. Every line taken precedes the line that ended the loop, so the first fault still wins.
inline std::size_t RequestHeadParser::takePlainLines(std::string_view message, std::size_t at,
                                                     std::size_t& faulty) noexcept {
#if defined(__SSE2__)
    if (message.size() < plainLineBytes) return at;
    const std::size_t lastBlock = message.size() - plainLineBytes;
    const std::span<HeaderField> room = head_->headers.inlineRoom(limits_.headerCount);
    const char* const begin = message.data();
    HeaderField* field = room.data();
    HeaderField* const full = field + room.size();
    std::array<HeaderField*, HeaderTable::inlineCapacity> noted;
    std::size_t notedCount = 0;
    while (at <= lastBlock && field != full) {
        const char* const cr = scanPlainLine(begin, at, lastBlock, *field);
        if (cr == nullptr) break;
        noted[notedCount] = field;
        notedCount += mayBeKnown(begin + at, field->name.size) ? 1 : 0;
        ++field;
        at = static_cast<std::size_t>(cr + 2 - begin);
    }
    head_->headers.added(field - room.data());
    for (std::size_t i = 0; i < notedCount; ++i) {
        if (noteField(*noted[i], message) == Fault::none) [[likely]]
            continue;
        faulty = noted[i]->name.offset;
        break;
    }
#else
    static_cast<void>(message);
    static_cast<void>(faulty);
#endif
    return at;
}

Verdict RequestHeadParser::readHeaders(std::string_view message, std::size_t at) {
    for (;;) {
        std::size_t faulty = 0;
        at = takePlainLines(message, at, faulty);
        if (faulty != 0) [[unlikely]]
            return refuseLine(message, faulty);
        if (message.size() - at < 2) return settleLine(message, at, Fault::none);
        if (load<std::uint16_t>(message.data() + at) == crlf) [[likely]]
            return finish(message, at);
        const Verdict verdict = readLine(message, at);
        if (verdict != Verdict::complete) return verdict;
    }
}

// Takes the line at `at`, plain or not. On Verdict::complete, `at` is after the line.
Verdict RequestHeadParser::readLine(std::string_view message, std::size_t& at) {
    const char* const begin = message.data();
    FieldLine line;
    if (!scanFieldLine(begin + at, begin, begin + message.size(), line)) return settleLine(message, at, Fault::none);
    const auto slice = [begin](const char* from, const char* to) {
        return Slice{static_cast<std::uint32_t>(from - begin), static_cast<std::uint32_t>(to - from)};
    };
    const HeaderField field{slice(begin + at, line.nameEnd), slice(line.value, line.valueEnd)};
    if (head_->headers.size() == limits_.headerCount) return settleLine(message, at, Fault::tooManyHeaders);
    if (const Fault fault = noteField(field, message); fault != Fault::none) return settleLine(message, at, fault);
    head_->headers.add(field);
    at = static_cast<std::size_t>(line.lineEnd + 2 - begin);
    return Verdict::complete;
}

// Reports the fault in the meaning of a line again (noteField() returns the same fault for it).
Verdict RequestHeadParser::refuseLine(std::string_view message, std::size_t at) {
    head_->headers.clear();
    return readLine(message, at);
}

// The line at `at` cannot be taken now: it is incomplete, its end is broken, or its contents are wrong (`fault`, or a
// syntax that scanFieldLine refused).
Verdict RequestHeadParser::settleLine(std::string_view message, std::size_t at, Fault fault) noexcept {
    lineStart_ = static_cast<std::uint32_t>(at);
    scanned_ = lineStart_;
    if (!frameLine(message)) return pending();
    if (fault == Fault::none) fault = explainFieldLine(message.substr(lineStart_, scanned_ - lineStart_));
    return fail(fault);
}

Verdict RequestHeadParser::finish(std::string_view message, std::size_t blankLine) {
    if (blankLine - sectionStart_ > limits_.headerSectionBytes) return fail(Fault::headerSectionTooLarge);
    head_->consumed = static_cast<std::uint32_t>(blankLine + 2);
    constexpr std::uint32_t plain = sawHost | optionClose | optionKeepAlive;
    if ((seen_ & ~plain) != 0 || (seen_ & sawHost) == 0) return decide();
    remember(message, message.substr(sectionStart_, blankLine + 2 - sectionStart_));
    if (head_->version != Version::http11 || head_->targetForm != TargetForm::origin) return decide();
    return acceptPlain(*head_, seen_, host_);
}

}  // namespace weft::http::detail
