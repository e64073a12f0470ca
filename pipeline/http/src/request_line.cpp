#include "request_line.hpp"

#include <algorithm>

#include "character_class.hpp"
#include "header_rules.hpp"

namespace weft::http::detail {
namespace {

Fault parseVersion(std::string_view text, Version& version) noexcept {
    if (text.size() != 8 || !text.starts_with("HTTP/") || text[6] != '.') return Fault::badVersion;
    if (!is(digitChar, text[5]) || !is(digitChar, text[7])) return Fault::badVersion;
    if (text[5] != '1') return Fault::unsupportedVersion;
    version = text[7] == '0' ? Version::http10 : Version::http11;  // a later minor is served as 1.1 (RFC 9110, 2.5)
    return Fault::none;
}

// The authority of "scheme://authority[/path][?query]"; empty when the target is not of this form.
std::string_view authorityOf(std::string_view target) noexcept {
    const std::size_t colon = target.find(':');
    if (colon == std::string_view::npos || !target.substr(colon).starts_with("://")) return {};
    if (!is(letterChar, target[0]) || !consistsOf(schemeChar, target.substr(0, colon))) return {};
    const std::string_view rest = target.substr(colon + 3);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
    return isAuthority(authority) ? authority : std::string_view{};
}

// CONNECT has no default port, so "host:" is not enough.
bool isHostWithPort(std::string_view target) noexcept {
    if (!isAuthority(target) || !is(digitChar, target.back())) return false;
    const std::size_t bracket = target.find(']');
    return target.find(':', bracket == std::string_view::npos ? 0 : bracket) != std::string_view::npos;
}

Fault parseTarget(std::string_view text, std::uint32_t offset, RequestHead& head) noexcept {
    if (!consistsOf(targetChar, text)) return Fault::badTarget;
    head.target = {offset, static_cast<std::uint32_t>(text.size())};
    head.pathSize = static_cast<std::uint32_t>(std::min(text.find('?'), text.size()));
    if (head.method == Method::connect) {
        if (!isHostWithPort(text)) return Fault::badTarget;
        head.targetForm = TargetForm::authority;
        head.authority = head.target;
    } else if (text.front() == '/') {
        head.targetForm = TargetForm::origin;
    } else if (text == "*") {
        if (head.method != Method::options) return Fault::badTarget;
        head.targetForm = TargetForm::asterisk;
    } else {
        const std::string_view authority = authorityOf(text);
        if (authority.empty()) return Fault::badTarget;
        head.targetForm = TargetForm::absolute;
        head.authority = {offset + static_cast<std::uint32_t>(authority.data() - text.data()),
                          static_cast<std::uint32_t>(authority.size())};
    }
    return Fault::none;
}

}  // namespace

Fault parseRequestLine(std::string_view line, std::uint32_t offset, RequestHead& head) noexcept {
    const std::size_t first = line.find(' ');
    if (!consistsOf(tokenChar, line.substr(0, first))) return Fault::badMethod;
    if (first == std::string_view::npos) return Fault::badRequestLine;
    const std::size_t second = line.find(' ', first + 1);
    if (second == std::string_view::npos || second == first + 1) return Fault::badRequestLine;
    if (const Fault fault = parseVersion(line.substr(second + 1), head.version); fault != Fault::none) return fault;
    head.method = methodOf(line.substr(0, first));
    head.methodText = {offset, static_cast<std::uint32_t>(first)};
    return parseTarget(line.substr(first + 1, second - first - 1), offset + static_cast<std::uint32_t>(first) + 1,
                       head);
}

}  // namespace weft::http::detail
