// RawPair: a connected, non-blocking socket for a transport, and the descriptor of its blocking peer.
#pragma once

#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <weft/pipeline/socket_address.hpp>
#include <weft/transports/fd.hpp>
#include <weft/transports/system_calls.hpp>

namespace weft::test {

struct RawPair {
    explicit RawPair(SystemCalls& calls = SystemCalls::kernel()) {
        Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const SocketAddress any = SocketAddress::loopbackV4(0);
        EXPECT_EQ(::bind(listener.get(), any.data(), any.size()), 0);
        EXPECT_EQ(::listen(listener.get(), 1), 0);
        sockaddr_in address{};
        socklen_t size = sizeof address;
        EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
        own = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), calls);
        EXPECT_EQ(::connect(own.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
        EXPECT_EQ(::fcntl(own.get(), F_SETFL, O_NONBLOCK), 0);
        peer = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    Fd own;
    Fd peer;
};

}  // namespace weft::test
