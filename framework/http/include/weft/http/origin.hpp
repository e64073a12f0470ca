// Origin: the server that a request goes to: a host (numeric or a name) and a port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <weft/pipeline/socket_address.hpp>

namespace weft::http {

// A value type. Equal origins, which have the same spelling of the host and the same port, share connections. Context:
// any thread. Never blocks.
class Origin {
  public:
    // Throws std::invalid_argument for an empty address.
    Origin(const SocketAddress& address);
    // `host` is numeric or a name, which is resolved when a connection is opened. Throws std::invalid_argument, quoting
    // `host`, when it can be neither, and for port 0.
    Origin(std::string_view host, std::uint16_t port);

    const std::string& host() const noexcept { return host_; }  // without brackets
    std::uint16_t port() const noexcept { return port_; }
    // Empty when the host is a name.
    const SocketAddress& address() const noexcept { return address_; }
    // The value of a Host header: "127.0.0.1:9000", "[::1]:80", "backend". Port 80 is omitted unless the host is
    // numeric. The zone of a link-local address is omitted, because it is meaningful only on this machine. Lifetime:
    // the origin's.
    const std::string& authority() const noexcept;
    const std::string& toString() const noexcept { return text_; }  // always with the port; lifetime: the origin's

    friend bool operator==(const Origin& left, const Origin& right) noexcept {
        return left.port_ == right.port_ && left.host_ == right.host_;
    }

  private:
    std::string host_;
    std::uint16_t port_;
    SocketAddress address_;
    std::string text_;
    std::string withoutZone_;  // empty when the address has no zone
};

// "http://host[:port][/path][?query]", split in two. The '%' before a zone may be written "%25" (RFC 6874) or "%".
struct Url {
    Origin origin;
    std::string target;  // begins with '/'

    // Throws std::invalid_argument that quotes the text, or its host, and lists what is accepted. It refuses https (not
    // supported), user names and fragments.
    static Url parse(std::string_view text);
};

}  // namespace weft::http
