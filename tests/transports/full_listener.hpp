// FullListener: a port that answers no connect.
#pragma once

#include <memory>
#include <thread>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <weft/pipeline/socket_address.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "transports/blocking_peer.hpp"

namespace weft::test {

// Its backlog is full and it accepts nothing: the kernel drops further SYNs, so that a connect to it stays in progress.
class FullListener {
  public:
    FullListener() : fd_(openTcpSocket(AF_INET)) {
        const SocketAddress any = SocketAddress::loopbackV4(0);
        EXPECT_EQ(::bind(fd_.get(), any.data(), any.size()), 0);
        EXPECT_EQ(::listen(fd_.get(), 0), 0);
        address_ = detail::localAddressOf(SystemCalls::kernel(), fd_.get());
        only_ = std::make_unique<BlockingPeer>(address_);
        while (!isFull()) std::this_thread::yield();  // the connect may return before the kernel has queued it
    }
    const SocketAddress& address() const { return address_; }

  private:
    // Of a socket that listens, the kernel reports the length of the backlog and its limit in these fields.
    bool isFull() const {
        tcp_info info{};
        socklen_t size = sizeof info;
        EXPECT_EQ(::getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
        return info.tcpi_unacked > info.tcpi_sacked;
    }

    Fd fd_;
    SocketAddress address_;
    std::unique_ptr<BlockingPeer> only_;
};

}  // namespace weft::test
