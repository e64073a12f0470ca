// Origin: the server that a request goes to: a host, numeric or by name, and a port.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <weft/pipeline/socket_address.hpp>

namespace weft::http {

// A value. Two of them share connections when they are spelled alike. Context: any thread. Never blocks.
class Origin {
  public:
    // Throws std::invalid_argument for the empty address.
    Origin(const SocketAddress& address);
    // `host`: numeric, or a name, which is resolved when a connection is opened. Throws std::invalid_argument quoting
    // what can be neither, and for port 0.
    Origin(std::string_view host, std::uint16_t port);

    const std::string& host() const noexcept { return host_; }  // without brackets
    std::uint16_t port() const noexcept { return port_; }
    // Empty when the host is a name.
    const SocketAddress& address() const noexcept { return address_; }
    // What a Host header says: "127.0.0.1:9000", "[::1]:80", "backend"; the port is left out when it is 80, unless the
    // host is numeric. Without the zone of a link-local address, which means something on this host only. Lifetime: the
    // origin's.
    const std::string& authority() const noexcept;
    const std::string& toString() const noexcept { return text_; }  // with the port, always; lifetime: the origin's

    friend bool operator==(const Origin& left, const Origin& right) noexcept {
        return left.port_ == right.port_ && left.host_ == right.host_;
    }

  private:
    std::string host_;
    std::uint16_t port_;
    SocketAddress address_;
    std::string text_;
    std::string withoutZone_;  // empty: there is none to leave out
};

// "http://host[:port][/path][?query]" in its two parts. The '%' before a zone is "%25" (RFC 6874) or as it is.
struct Url {
    Origin origin;
    std::string target;  // begins with '/'

    // Throws std::invalid_argument quoting the text and saying what is accepted: also for https, which is not spoken
    // here, for user names and for fragments.
    static Url parse(std::string_view text);
};

}  // namespace weft::http
