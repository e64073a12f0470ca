// SocketAddress: an IPv4 or IPv6 address with a port, in the layout that socket calls take. It resolves no names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>

namespace weft {

// A value; empty (family AF_UNSPEC) by default. Context: any thread. Never blocks; only text forms allocate.
class SocketAddress {
  public:
    SocketAddress() noexcept;
    // Numeric: "127.0.0.1", "::1", "[::1]", "fe80::1%eth0" or "fe80::1%2" (link-local, with its zone), or "" for any
    // IPv4 address. Throws std::invalid_argument that quotes the text for anything else, and for an embedded NUL.
    SocketAddress(std::string_view address, std::uint16_t port);

    // Parses "ADDR:PORT" ("127.0.0.1:80", "[::1]:80", ":80"); the port is 0 to 65535. Throws std::invalid_argument that
    // quotes the text and names the wrong part.
    static SocketAddress parse(std::string_view text);
    // Copies an address that a socket call returned; cuts off what exceeds the storage, as the kernel does.
    static SocketAddress from(const sockaddr* address, std::size_t size) noexcept;
    static SocketAddress anyV4(std::uint16_t port) noexcept;
    static SocketAddress loopbackV4(std::uint16_t port) noexcept;

    // For socket calls: data() is never null, size() is 0 for an empty address.
    const sockaddr* data() const noexcept { return &storage_.any; }
    sockaddr* data() noexcept { return &storage_.any; }
    socklen_t size() const noexcept;

    int family() const noexcept { return storage_.any.sa_family; }
    bool empty() const noexcept { return family() == AF_UNSPEC; }
    std::uint16_t port() const noexcept;  // host byte order; 0 when empty
    void setPort(std::uint16_t port) noexcept;
    bool isLoopback() const noexcept;

    std::string host() const;      // "127.0.0.1", "::1", "fe80::1%2"; "" when empty
    std::string toString() const;  // "127.0.0.1:80", "[::1]:80"; "(none)" when empty

    friend bool operator==(const SocketAddress& left, const SocketAddress& right) noexcept;
    // toString()
    friend std::ostream& operator<<(std::ostream& out, const SocketAddress& address);

  private:
    union Storage {
        sockaddr any;
        sockaddr_in v4;
        sockaddr_in6 v6;
    } storage_;
};

}  // namespace weft
