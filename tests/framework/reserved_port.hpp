// ReservedPort: a loopback port that the kernel gives to no other process meanwhile, and that a server may bind to.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <weft/pipeline/socket_address.hpp>
#include <weft/transports/tcp_socket.hpp>

namespace weft::test {

// Bound with SO_REUSEADDR but not listening: other sockets with that option may bind to the same address.
class ReservedPort {
  public:
    ReservedPort() : fd_(openTcpSocket(AF_INET)) {
        const SocketAddress any = SocketAddress::loopbackV4(0);
        EXPECT_FALSE(detail::setSocketOption(SystemCalls::kernel(), fd_.get(), SocketOption::reuseAddress, 1));
        EXPECT_EQ(::bind(fd_.get(), any.data(), any.size()), 0);
    }
    SocketAddress address() const { return detail::localAddressOf(SystemCalls::kernel(), fd_.get()); }

    // True when a socket listens on it.
    bool isServed() const {
        const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const SocketAddress remote = address();
        return ::connect(client.get(), remote.data(), remote.size()) == 0;
    }

  private:
    const Fd fd_;
};

}  // namespace weft::test
