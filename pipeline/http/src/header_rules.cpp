#include "header_rules.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "character_class.hpp"

namespace weft::http::detail {
namespace {

bool isPort(std::string_view text) noexcept {
    if (text.empty()) return true;  // "host:" is the default port (RFC 3986, 3.2.3)
    if (text.size() > 5 || !consistsOf(digitChar, text)) return false;
    unsigned port = 0;
    for (const char c : text) port = port * 10 + static_cast<unsigned>(c - '0');
    return port <= 65535;
}

bool isRegisteredName(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is(hostChar, text[i])) continue;
        if (text[i] != '%' || text.size() - i < 3 || !is(hexChar, text[i + 1]) || !is(hexChar, text[i + 2]))
            return false;
        i += 2;
    }
    return !text.empty();
}

bool isIpv6(std::string_view text) noexcept {
    const auto allowed = [](char c) { return is(hexChar, c) || c == ':' || c == '.'; };
    return text.size() <= 45 && std::ranges::count(text, ':') >= 2 && std::ranges::all_of(text, allowed);
}

// Removes the next member from a comma-separated list and returns it without surrounding blanks.
std::string_view nextMember(std::string_view& list, bool& last) noexcept {
    const std::size_t comma = list.find(',');
    last = comma == std::string_view::npos;
    const std::string_view member = trimBlanks(list.substr(0, comma));
    list = last ? std::string_view{} : list.substr(comma + 1);
    return member;
}

}  // namespace

bool isAuthority(std::string_view text) noexcept {
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == std::string_view::npos || !isIpv6(text.substr(1, close - 1))) return false;
        const std::string_view rest = text.substr(close + 1);
        return rest.empty() || (rest.front() == ':' && isPort(rest.substr(1)));
    }
    const std::size_t colon = text.find(':');
    if (!isRegisteredName(text.substr(0, colon))) return false;
    return colon == std::string_view::npos || isPort(text.substr(colon + 1));
}

std::optional<std::uint64_t> parseContentLength(std::string_view text) noexcept {
    if (text.empty() || text.size() > 19 || (text.size() > 1 && text.front() == '0')) return std::nullopt;
    std::uint64_t length = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        length = length * 10 + static_cast<std::uint64_t>(c - '0');  // 19 digits cannot overflow
    }
    if (length > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return length;
}

TransferEncoding parseTransferEncoding(std::string_view text) noexcept {
    if (equalIgnoringCase(text, "chunked")) return TransferEncoding::chunked;
    bool sawChunked = false;
    for (bool last = false; !last;) {
        const std::string_view member = nextMember(text, last);
        const std::string_view coding = trimBlanks(member.substr(0, member.find(';')));
        if (!consistsOf(tokenChar, coding)) return TransferEncoding::malformed;
        if (!equalIgnoringCase(coding, "chunked")) continue;
        if (sawChunked || !last || coding.size() != member.size()) return TransferEncoding::malformed;
        sawChunked = true;
    }
    return sawChunked ? TransferEncoding::unknownCoding : TransferEncoding::notChunked;
}

ConnectionOptions parseConnection(std::string_view text) noexcept {
    ConnectionOptions options;
    for (bool last = false; !last;) {
        const std::string_view option = nextMember(text, last);
        if (equalIgnoringCase(option, "close")) options.close = true;
        if (equalIgnoringCase(option, "keep-alive")) options.keepAlive = true;
        if (equalIgnoringCase(option, "upgrade")) options.upgrade = true;
    }
    return options;
}

bool isForbiddenTrailer(std::string_view name) noexcept {
    // clang-format off
    static constexpr auto forbidden = std::to_array<std::string_view>({
        "content-length", "transfer-encoding", "host", "connection", "keep-alive", "proxy-connection", "te",
        "trailer", "upgrade", "expect", "max-forwards", "cache-control", "pragma", "range", "if-match",
        "if-none-match", "if-modified-since", "if-unmodified-since", "if-range", "authorization",
        "proxy-authorization", "proxy-authenticate", "cookie", "set-cookie", "content-encoding", "content-type",
        "content-range", "forwarded", "x-forwarded-for", "x-forwarded-host",
    });
    // clang-format on
    return std::ranges::any_of(forbidden, [name](std::string_view bad) { return equalIgnoringCase(name, bad); });
}

}  // namespace weft::http::detail
