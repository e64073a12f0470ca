// TcpPair: two connected streams on one carrier, for tests of fiber I/O.
#pragma once

#include <array>
#include <span>

#include <weft/transports/tcp_listener.hpp>
#include <weft/transports/tcp_stream.hpp>

#include "transports/socket_loops.hpp"

namespace weft::test {

inline const SocketAddress anyPort = SocketAddress::loopbackV4(0);

// Echoes until the peer ends.
inline void echo(TcpStream& stream) {
    std::array<char, 4096> bytes;
    ErrorCode error;
    while (std::size_t count = stream.read(bytes, error)) stream.write(std::span<const char>(bytes).first(count));
}

// A connected pair on the running fiber's carrier.
struct TcpPair {
    TcpListener listener = TcpListener::listen(anyPort);
    TcpStream client = TcpStream::connect(listener.localAddress(), testDeadline());
    TcpStream server = listener.accept(testDeadline());
};

}  // namespace weft::test
