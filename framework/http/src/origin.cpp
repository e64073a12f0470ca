#include <weft/http/origin.hpp>

#include <charconv>
#include <stdexcept>

#include <weft/framework/resolver.hpp>
#include <weft/pipeline/detail/printable.hpp>

namespace weft::http {

namespace {

constexpr std::uint16_t portOf(Scheme scheme) noexcept {
    return scheme == Scheme::https ? 443 : 80;
}

std::string_view withoutBrackets(std::string_view host) {
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    return bracketed ? host.substr(1, host.size() - 2) : host;
}

std::string textWithoutZone(const SocketAddress& address) {
    std::string text = address.toString();
    const std::size_t zone = text.find('%');
    return zone == std::string::npos ? std::string() : text.erase(zone, text.find(']') - zone);
}

// Unescapes the '%' before a zone, which is "%25" in a URL.
std::string withPlainZone(std::string_view host) {
    std::string plain(host);
    const std::size_t escaped = plain.find("%25");
    if (host.starts_with('[') && escaped != std::string::npos) plain.erase(escaped + 1, 2);
    return plain;
}

[[noreturn]] void refuse(std::string_view url, const char* why) {
    throw std::invalid_argument("'" + weft::detail::printable(url) + "' is not a usable URL: " + why);
}

std::uint16_t portOf(std::string_view url, std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size() || port == 0) {
        refuse(url, "the port must be a number from 1 to 65535");
    }
    return port;
}

}  // namespace

Origin::Origin(const SocketAddress& address, Scheme scheme)
    : host_(address.host()),
      port_(address.port()),
      scheme_(scheme),
      address_(address),
      text_(address.toString()),
      withoutZone_(textWithoutZone(address)) {
    if (address.empty())
        throw std::invalid_argument("an HTTP server's address is empty; give a host and a port from 1 to 65535");
}

Origin::Origin(std::string_view host, std::uint16_t port, Scheme scheme)
    : host_(withoutBrackets(host)), port_(port), scheme_(scheme) {
    if (host_.empty() || port == 0) {
        throw std::invalid_argument("'" + weft::detail::printable(host) + "' with port " + std::to_string(port) +
                                    " is not an HTTP server's address; accepted: a host, and a port from 1 to 65535");
    }
    if (weft::detail::isNumericHost(host_)) {
        *this = Origin(SocketAddress(host_, port), scheme);
    } else {
        weft::detail::requireHostName(host_);
        text_ = host_ + ":" + std::to_string(port);
    }
}

const std::string& Origin::authority() const noexcept {
    if (!withoutZone_.empty()) return withoutZone_;
    return address_.empty() && port_ == portOf(scheme_) ? host_ : text_;
}

Url Url::parse(std::string_view text) {
    const Scheme scheme = text.starts_with("https://") ? Scheme::https : Scheme::http;
    const std::size_t prefix = textOf(scheme).size() + std::string_view("://").size();
    if (scheme == Scheme::http && !text.starts_with("http://"))
        refuse(text, "expected http://host[:port]/path or https://host[:port]/path");
    if (text.find('#') != std::string_view::npos)
        refuse(text, "a fragment (#...) is never sent to a server; remove it");
    const std::string_view rest = text.substr(prefix);
    const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
    const std::string_view authority = rest.substr(0, end);
    if (authority.find('@') != std::string_view::npos)
        refuse(text, "a user name is not accepted in a URL; send an Authorization header");
    const std::size_t colon = authority.rfind(':');
    const bool hasPort = colon != std::string_view::npos && authority.back() != ']';
    const std::string_view host = hasPort ? authority.substr(0, colon) : authority;
    const std::uint16_t port = hasPort ? portOf(text, authority.substr(colon + 1)) : portOf(scheme);
    std::string target(rest.substr(end));
    if (!target.starts_with('/')) target.insert(0, "/");
    return {Origin(withPlainZone(host), port, scheme), std::move(target)};
}

}  // namespace weft::http
