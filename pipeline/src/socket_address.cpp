#include <weft/pipeline/socket_address.hpp>

#include <weft/pipeline/detail/printable.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ostream>
#include <stdexcept>

#include <arpa/inet.h>
#include <net/if.h>

namespace weft {

namespace {

[[noreturn]] void refuse(std::string_view text, const char* why) {
    throw std::invalid_argument("\"" + detail::printable(text) + "\" is not an address: " + why);
}

// inet_pton() reads only to the first NUL, and would accept an address that is followed by one and anything else.
template <std::size_t N>
bool toText(std::string_view from, char (&text)[N]) noexcept {
    if (from.size() >= N || from.find('\0') != std::string_view::npos) return false;
    std::copy(from.begin(), from.end(), text);
    text[from.size()] = '\0';
    return true;
}

constexpr const char* notNumeric = "expected a numeric IPv4 or IPv6 address (names are not resolved here)";

std::uint16_t parsePort(std::string_view text, std::string_view port) {
    unsigned value = 0;
    const char* end = port.data() + port.size();
    const auto [stop, error] = std::from_chars(port.data(), end, value);
    if (port.empty() || error != std::errc() || stop != end || value > 65535) {
        refuse(text, "the port must be a number from 0 to 65535");
    }
    return static_cast<std::uint16_t>(value);
}

// Faster than inet_ntop(), which uses printf(): a client formats its server's address with each request. Returns the
// end of the text.
char* putDotted(const in_addr& address, char* text) noexcept {
    std::uint8_t bytes[4];
    std::memcpy(bytes, &address, sizeof bytes);
    for (const std::uint8_t byte : bytes) {
        text = std::to_chars(text, text + 3, byte).ptr;
        *text++ = '.';
    }
    return text - 1;
}

std::string_view withoutBrackets(std::string_view host) {
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') return host.substr(1, host.size() - 2);
    return host;
}

// Returns null, or a description of the error.
const char* readZone(std::string_view zone, sockaddr_in6& address) noexcept {
    if (!IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr) && !IN6_IS_ADDR_MC_LINKLOCAL(&address.sin6_addr)) {
        return "only a link-local address (fe80::/10, ff02::/16) has a zone";
    }
    std::uint32_t index = 0;
    const char* end = zone.data() + zone.size();
    const auto [stop, error] = std::from_chars(zone.data(), end, index);
    char name[IF_NAMESIZE];
    const bool isNumber = error == std::errc() && stop == end;
    if (!isNumber) index = toText(zone, name) ? if_nametoindex(name) : 0;
    if (index == 0) return "its zone must be the name or the number of a network interface of this host";
    address.sin6_scope_id = index;
    return nullptr;
}

// Likewise; `host` has no brackets.
const char* read(std::string_view host, SocketAddress& address) noexcept {
    const std::size_t percent = host.find('%');
    char text[INET6_ADDRSTRLEN + 1];
    if (!toText(host.substr(0, percent), text)) return notNumeric;
    sockaddr_in v4{};
    if (percent == std::string_view::npos && inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        v4.sin_family = AF_INET;
        address = SocketAddress::from(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
        return nullptr;
    }
    sockaddr_in6 v6{};
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1) return notNumeric;
    v6.sin6_family = AF_INET6;
    const char* why = percent == std::string_view::npos ? nullptr : readZone(host.substr(percent + 1), v6);
    if (why == nullptr) address = SocketAddress::from(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
    return why;
}

}  // namespace

SocketAddress::SocketAddress() noexcept {
    std::memset(&storage_, 0, sizeof storage_);
}

SocketAddress::SocketAddress(std::string_view address, std::uint16_t port) : SocketAddress() {
    if (address.empty()) {
        *this = anyV4(port);
    } else if (const char* why = read(withoutBrackets(address), *this)) {
        refuse(address, why);
    }
    setPort(port);
}

SocketAddress SocketAddress::parse(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) refuse(text, "expected ADDR:PORT");
    const std::string_view host = text.substr(0, colon);
    const std::uint16_t port = parsePort(text, text.substr(colon + 1));
    if (host.find(':') != std::string_view::npos && host.front() != '[') {
        refuse(text, "an IPv6 address needs brackets before the port: [ADDR]:PORT");
    }
    if (host.empty()) return anyV4(port);
    SocketAddress result;
    const char* why = read(withoutBrackets(host), result);
    if (why == notNumeric) why = "the part before the port must be a numeric IPv4 or bracketed IPv6 address";
    if (why) refuse(text, why);
    result.setPort(port);
    return result;
}

SocketAddress SocketAddress::from(const sockaddr* address, std::size_t size) noexcept {
    SocketAddress result;
    std::memcpy(&result.storage_, address, std::min(size, sizeof result.storage_));
    return result;
}

SocketAddress SocketAddress::anyV4(std::uint16_t port) noexcept {
    SocketAddress result;
    result.storage_.v4.sin_family = AF_INET;
    result.setPort(port);
    return result;
}

SocketAddress SocketAddress::loopbackV4(std::uint16_t port) noexcept {
    SocketAddress result = anyV4(port);
    result.storage_.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return result;
}

socklen_t SocketAddress::size() const noexcept {
    switch (family()) {
        case AF_INET: return sizeof(sockaddr_in);
        case AF_INET6: return sizeof(sockaddr_in6);
        default: return 0;
    }
}

std::uint16_t SocketAddress::port() const noexcept {
    switch (family()) {
        case AF_INET: return ntohs(storage_.v4.sin_port);
        case AF_INET6: return ntohs(storage_.v6.sin6_port);
        default: return 0;
    }
}

void SocketAddress::setPort(std::uint16_t port) noexcept {
    if (family() == AF_INET) storage_.v4.sin_port = htons(port);
    if (family() == AF_INET6) storage_.v6.sin6_port = htons(port);
}

bool SocketAddress::isLoopback() const noexcept {
    if (family() == AF_INET) return (ntohl(storage_.v4.sin_addr.s_addr) >> 24) == 127;
    return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&storage_.v6.sin6_addr);
}

std::string SocketAddress::host() const {
    char text[INET6_ADDRSTRLEN] = "";
    if (family() == AF_INET) return {text, putDotted(storage_.v4.sin_addr, text)};
    if (family() == AF_INET6) inet_ntop(AF_INET6, &storage_.v6.sin6_addr, text, sizeof text);
    const std::uint32_t zone = family() == AF_INET6 ? storage_.v6.sin6_scope_id : 0;
    return zone == 0 ? text : std::string(text) + "%" + std::to_string(zone);
}

std::string SocketAddress::toString() const {
    if (empty()) return "(none)";
    const std::string address = family() == AF_INET6 ? "[" + host() + "]" : host();
    return address + ":" + std::to_string(port());
}

std::ostream& operator<<(std::ostream& out, const SocketAddress& address) {
    return out << address.toString();
}

bool operator==(const SocketAddress& left, const SocketAddress& right) noexcept {
    if (left.family() != right.family() || left.port() != right.port()) return false;
    switch (left.family()) {
        case AF_INET: return left.storage_.v4.sin_addr.s_addr == right.storage_.v4.sin_addr.s_addr;
        case AF_INET6:
            return std::memcmp(&left.storage_.v6.sin6_addr, &right.storage_.v6.sin6_addr, sizeof(in6_addr)) == 0 &&
                   left.storage_.v6.sin6_scope_id == right.storage_.v6.sin6_scope_id;
        default: return true;
    }
}

}  // namespace weft
