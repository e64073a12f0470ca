// Parses the request line: a fast path for common lines, and the whole grammar for all others (RFC 9112, 3). Used by
// the request head parser. The grammar accepts every line that the fast path accepts, with the same result.
#pragma once

#include <string_view>

#include <weft/http/request_head.hpp>
#include "byte_scan.hpp"
#include "fault.hpp"

namespace weft::http::detail {

// Parses a complete line (without CRLF, free of control characters) that begins `offset` bytes into the message.
Fault parseRequestLine(std::string_view line, std::uint32_t offset, RequestHead& head) noexcept;

// Accepts `token SP /path SP HTTP/1.x CRLF` at `line` and returns the address of its CR. Null if the line is different
// or incomplete.
[[gnu::always_inline]] inline const char* scanPlainRequestLine(const char* line, const char* begin, const char* end,
                                                               RequestHead& head) noexcept {
    if (end - line < 16) return nullptr;
    const char* target = line + 4;
    Method method = Method::get;
    if (load<std::uint32_t>(line) != word<std::uint32_t>("GET ")) [[unlikely]] {
        const char* const stop = findFirst<NameStop>(line, begin, end);
        if (stop == end || stop == line || *stop != ' ') return nullptr;
        method = methodOf({line, static_cast<std::size_t>(stop - line)});
        if (method == Method::connect || stop + 1 == end) return nullptr;
        target = stop + 1;
    }
    if (*target != '/') return nullptr;
    const char* const pathEnd = findFirst<PathStop>(target + 1, begin, end);
    const char* targetEnd = pathEnd;
    if (pathEnd != end && *pathEnd == '?') targetEnd = findFirst<TargetStop>(pathEnd + 1, begin, end);
    if (end - targetEnd < 11 || *targetEnd != ' ') return nullptr;
    const auto version = load<std::uint64_t>(targetEnd + 1);
    const bool minorOne = version == word<std::uint64_t>("HTTP/1.1");
    if (!minorOne && version != word<std::uint64_t>("HTTP/1.0")) return nullptr;
    if (load<std::uint16_t>(targetEnd + 9) != crlf) return nullptr;
    const auto offset = [begin](const char* at) { return static_cast<std::uint32_t>(at - begin); };
    head.method = method;
    head.version = minorOne ? Version::http11 : Version::http10;
    head.targetForm = TargetForm::origin;
    head.methodText = {offset(line), static_cast<std::uint32_t>(target - 1 - line)};
    head.target = {offset(target), static_cast<std::uint32_t>(targetEnd - target)};
    head.pathSize = static_cast<std::uint32_t>(pathEnd - target);
    return targetEnd + 9;
}

}  // namespace weft::http::detail
