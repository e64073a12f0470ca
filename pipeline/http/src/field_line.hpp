// Parses one "name: value" line of a header or trailer section (RFC 9112, 5). Inline because the request head parser
// spends most of its time here. Knows the syntax of a line, never its meaning.
#pragma once

#include <string_view>

#include <weft/http/request_head.hpp>
#include "byte_scan.hpp"
#include "fault.hpp"

namespace weft::http::detail {

struct FieldLine {
    const char* nameEnd;
    const char* value;
    const char* valueEnd;  // blanks trimmed
    const char* lineEnd;   // at the CR
};

// Parses the line at `line`. Returns false if it is incomplete or malformed, without the reason: the caller must find
// the end of the line first, because a broken line end takes precedence over everything before it (see
// explainFieldLine).
inline bool scanFieldLine(const char* line, const char* begin, const char* end, FieldLine& out) noexcept {
    const char* name = findFirst<NameStop>(line, begin, end);
    while (name != end && is(tokenChar, *name)) ++name;
    if (name == end || *name != ':' || name == line) return false;
    const char* value = name + 1;
    while (value != end && isBlank(*value)) ++value;
    const char* const stop = findFirst<FieldStop>(value, begin, end);
    if (end - stop < 2 || load<std::uint16_t>(stop) != crlf) return false;
    const char* valueEnd = stop;
    while (valueEnd != value && isBlank(valueEnd[-1])) --valueEnd;
    out = {name, value, valueEnd, stop};
    return true;
}

#if defined(__SSE2__)
inline constexpr std::size_t plainLineBytes = 17;  // bytes of the message that scanPlainLine needs from the line on

// The rest of scanPlainLine(): a non-empty value without HTAB, from `value` on, and CRLF.
[[gnu::always_inline]] inline const char* scanPlainValue(const char* message, std::size_t value, std::size_t lastBlock,
                                                         HeaderField& field) noexcept {
    field.value.offset = static_cast<std::uint32_t>(value);
    std::size_t scan = value;
    unsigned stops = 0;
    for (;; scan += 16) {
        if (scan > lastBlock) [[unlikely]] {
            if (scan - lastBlock > 15) return nullptr;
            stops = ControlStop::mask(loadBlock(message + lastBlock)) >> (scan - lastBlock);
            if (stops == 0) return nullptr;
            break;
        }
        stops = ControlStop::mask(loadBlock(message + scan));
        if (stops != 0) [[likely]]
            break;
    }
    const std::size_t stop = scan + static_cast<unsigned>(std::countr_zero(stops));
    if (load<std::uint16_t>(message + stop) != crlf) [[unlikely]]
        return nullptr;
    if (static_cast<unsigned char>(message[value]) <= ' ' || message[stop - 1] == ' ') [[unlikely]]
        return nullptr;
    field.value.size = static_cast<std::uint32_t>(stop - value);
    return message + stop;
}

// The fast path for nearly all lines: a name of at most 15 letters and '-', one SP, a non-empty value without HTAB,
// CRLF. Returns the address of the CR. scanFieldLine accepts the same lines with the same result; null means only that
// the caller must use it. Every instruction here runs once per header of every request, hence indexes, whole blocks,
// and stores where the numbers are computed.
// `lastBlock` is message size - plainLineBytes, and at <= lastBlock: no block includes the last byte of the message, so
// that a CR found is always followed by a byte.
[[gnu::always_inline]] inline const char* scanPlainLine(const char* message, std::size_t at, std::size_t lastBlock,
                                                        HeaderField& field) noexcept {
    const char* const line = message + at;
    field.name.offset = static_cast<std::uint32_t>(at);
    const unsigned nameStops = NameStop::mask(loadBlock(line));
    if (nameStops == 0) [[unlikely]]
        return nullptr;
    const std::size_t nameSize = static_cast<unsigned>(std::countr_zero(nameStops));
    field.name.size = static_cast<std::uint32_t>(nameSize);
    if (load<std::uint16_t>(line + nameSize) != word<std::uint16_t>(": ")) [[unlikely]]
        return nullptr;
    return scanPlainValue(message, at + nameSize + 2, lastBlock, field);
}
#endif

// Returns what is wrong with a line (without CRLF, free of control characters) that scanFieldLine refused.
inline Fault explainFieldLine(std::string_view line) noexcept {
    std::size_t name = 0;
    while (name < line.size() && is(tokenChar, line[name])) ++name;
    if (name == 0 && !line.empty() && isBlank(line[0])) return Fault::lineFolding;
    if (line.find(':') == std::string_view::npos) return Fault::missingColon;
    if (line[name] == ':') return name == 0 ? Fault::emptyName : Fault::none;
    const std::size_t colon = line.find_first_not_of(" \t", name);
    if (colon != name && colon != std::string_view::npos && line[colon] == ':') return Fault::blankBeforeColon;
    return Fault::badName;
}

}  // namespace weft::http::detail
