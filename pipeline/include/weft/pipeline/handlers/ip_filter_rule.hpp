// IpFilterRule: accepts or rejects the addresses of one network.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <weft/pipeline/socket_address.hpp>

namespace weft {

enum class IpFilterAction : unsigned char { accept, reject };

// A network is "10.0.0.0/8", "2001:db8::/32", or a single address: "127.0.0.1", "::1". In rules and for peers, an
// IPv4-mapped IPv6 address (::ffff:a.b.c.d, as dual-stack listeners see it) counts as the IPv4 address. A value.
// Context: any thread.
class IpFilterRule {
  public:
    // Throws std::invalid_argument that quotes the text and names the error: no numeric address, a prefix out of range
    // (0 to 32, 0 to 128), or bits set after the prefix.
    IpFilterRule(IpFilterAction action, std::string_view network);
    // "accept NETWORK" or "reject NETWORK"; throws as above.
    static IpFilterRule parse(std::string_view text);

    IpFilterAction action() const noexcept { return action_; }
    bool matches(const SocketAddress& address) const noexcept;
    std::string toString() const;  // "reject 10.0.0.0/8"

  private:
    using Bits = std::array<std::uint8_t, 16>;
    struct Address {
        int family;
        Bits bits;  // the first 4 of an IPv4 address
    };
    static std::optional<Address> addressOf(const SocketAddress& address) noexcept;
    void setPrefix(std::string_view network, std::string_view prefix, bool mapped);

    IpFilterAction action_;
    Address network_;
    unsigned prefix_ = 0;
};

}  // namespace weft
