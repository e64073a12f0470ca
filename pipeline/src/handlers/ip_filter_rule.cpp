#include <weft/pipeline/handlers/ip_filter_rule.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>

#include <weft/pipeline/detail/printable.hpp>

namespace weft {

namespace {

constexpr unsigned mappedBits = 96;  // of ::ffff:0:0/96

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw std::invalid_argument("\"" + detail::printable(text) + "\" is not an IP filter rule: " + why);
}

// The bits of `value` that a prefix of `prefix` bits leaves free within the byte at `index`.
std::uint8_t freeBits(std::uint8_t value, unsigned index, unsigned prefix) {
    const unsigned fixed = std::clamp(static_cast<int>(prefix) - 8 * static_cast<int>(index), 0, 8);
    return static_cast<std::uint8_t>(value & (0xff >> fixed));
}

}  // namespace

IpFilterRule::IpFilterRule(IpFilterAction action, std::string_view network) : action_(action) {
    const std::size_t slash = network.find('/');
    const std::string_view host = network.substr(0, slash);
    SocketAddress address;
    try {
        if (host.empty() || host.front() == '[') refuse(network, "expected ADDRESS or ADDRESS/PREFIX");
        address = SocketAddress(host, 0);
    } catch (const std::invalid_argument&) {
        refuse(network, "expected a numeric IPv4 or IPv6 address, with /PREFIX for a network");
    }
    network_ = *addressOf(address);
    const bool mapped = address.family() != network_.family;
    if (slash == std::string_view::npos) {
        prefix_ = network_.family == AF_INET ? 32 : 128;
    } else {
        setPrefix(network, network.substr(slash + 1), mapped);
    }
}

void IpFilterRule::setPrefix(std::string_view network, std::string_view prefix, bool mapped) {
    const unsigned first = mapped ? mappedBits : 0;
    const unsigned last = network_.family == AF_INET ? 32 + first : 128;
    const char* end = prefix.data() + prefix.size();
    const auto [stop, error] = std::from_chars(prefix.data(), end, prefix_);
    if (prefix.empty() || error != std::errc() || stop != end || prefix_ < first || prefix_ > last) {
        refuse(network, "the prefix must be a number from " + std::to_string(first) + " to " + std::to_string(last));
    }
    prefix_ -= first;
    for (unsigned i = 0; i < network_.bits.size(); ++i) {
        if (freeBits(network_.bits[i], i, prefix_) != 0) {
            refuse(network, "bits after the prefix are set; clear them, or use a longer prefix");
        }
    }
}

IpFilterRule IpFilterRule::parse(std::string_view text) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (space == std::string_view::npos || (word != "accept" && word != "reject")) {
        refuse(text, "expected \"accept NETWORK\" or \"reject NETWORK\", like \"reject 10.0.0.0/8\"");
    }
    return {word == "accept" ? IpFilterAction::accept : IpFilterAction::reject, text.substr(space + 1)};
}

std::optional<IpFilterRule::Address> IpFilterRule::addressOf(const SocketAddress& address) noexcept {
    Address result{address.family(), {}};
    if (address.family() == AF_INET) {
        sockaddr_in v4;
        std::memcpy(&v4, address.data(), sizeof v4);
        std::memcpy(result.bits.data(), &v4.sin_addr, 4);
        return result;
    }
    if (address.family() != AF_INET6) return std::nullopt;
    sockaddr_in6 v6;
    std::memcpy(&v6, address.data(), sizeof v6);
    std::memcpy(result.bits.data(), &v6.sin6_addr, 16);
    if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return result;
    const Bits all = result.bits;
    result = {AF_INET, {}};
    std::copy(all.begin() + mappedBits / 8, all.end(), result.bits.begin());
    return result;
}

bool IpFilterRule::matches(const SocketAddress& address) const noexcept {
    const std::optional<Address> peer = addressOf(address);
    if (!peer || peer->family != network_.family) return false;
    for (unsigned i = 0; 8 * i < prefix_; ++i) {
        const std::uint8_t differing = peer->bits[i] ^ network_.bits[i];
        if (differing != freeBits(differing, i, prefix_)) return false;
    }
    return true;
}

std::string IpFilterRule::toString() const {
    char address[INET6_ADDRSTRLEN];
    inet_ntop(network_.family, network_.bits.data(), address, sizeof address);
    return std::string(action_ == IpFilterAction::accept ? "accept " : "reject ") + address + "/" +
           std::to_string(prefix_);
}

}  // namespace weft
