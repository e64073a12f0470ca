// canBeListenedOn(): whether a port is free.
#pragma once

#include <sys/socket.h>

#include <weft/pipeline/socket_address.hpp>
#include <weft/transports/tcp_socket.hpp>

namespace weft::test {

// Without SO_REUSEADDR, so that an old connection in TIME_WAIT counts too.
inline bool canBeListenedOn(const SocketAddress& address) {
    const Fd fd = openTcpSocket(address.family());
    return ::bind(fd.get(), address.data(), address.size()) == 0 && ::listen(fd.get(), 1) == 0;
}

}  // namespace weft::test
