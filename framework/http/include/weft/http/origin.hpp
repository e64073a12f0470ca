// Origin: the server that a request goes to: a scheme, a host (numeric or a name) and a port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <weft/pipeline/socket_address.hpp>

namespace weft::http {

enum class Scheme : std::uint8_t {
    http,
    https,  // over TLS
};

// "http", "https"
constexpr std::string_view textOf(Scheme scheme) noexcept {
    return scheme == Scheme::https ? "https" : "http";
}

// A value type. Equal origins, which have the same scheme, the same spelling of the host and the same port, share
// connections. Context: any thread. Never blocks.
class Origin {
  public:
    // Throws std::invalid_argument for an empty address.
    Origin(const SocketAddress& address, Scheme scheme = Scheme::http);
    // `host` is numeric or a name, which is resolved when a connection is opened. Throws std::invalid_argument, quoting
    // `host`, when it can be neither, and for port 0.
    Origin(std::string_view host, std::uint16_t port, Scheme scheme = Scheme::http);

    Scheme scheme() const noexcept { return scheme_; }

    const std::string& host() const noexcept { return host_; }  // without brackets
    std::uint16_t port() const noexcept { return port_; }
    // Empty when the host is a name.
    const SocketAddress& address() const noexcept { return address_; }
    // The value of a Host header: "127.0.0.1:9000", "[::1]:80", "backend". The scheme's own port, 80 or 443, is omitted
    // unless the host is numeric. The zone of a link-local address is omitted, because it is meaningful only on this
    // machine. Lifetime: the origin's.
    const std::string& authority() const noexcept;
    const std::string& toString() const noexcept { return text_; }  // always with the port; lifetime: the origin's

    friend bool operator==(const Origin& left, const Origin& right) noexcept {
        return left.port_ == right.port_ && left.scheme_ == right.scheme_ && left.host_ == right.host_;
    }

  private:
    std::string host_;
    std::uint16_t port_;
    Scheme scheme_;
    SocketAddress address_;
    std::string text_;
    std::string withoutZone_;  // empty when the address has no zone
};

// "http://host[:port][/path][?query]", or the same with https, split in two. The '%' before a zone may be written "%25"
// (RFC 6874) or "%".
struct Url {
    Origin origin;
    std::string target;  // begins with '/'

    // Without a port, the scheme's: 80 or 443. Throws std::invalid_argument that quotes the text, or its host, and
    // lists what is accepted. It refuses other schemes, user names and fragments.
    static Url parse(std::string_view text);
};

}  // namespace weft::http
