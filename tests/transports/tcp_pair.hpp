// TcpPair: two connected streams on one carrier, for tests of what fibers do with them.
#pragma once

#include <array>
#include <span>

#include <weft/transports/tcp_listener.hpp>
#include <weft/transports/tcp_stream.hpp>

#include "transports/hosted_loop.hpp"

namespace weft::test {

inline const SocketAddress anyPort = SocketAddress::loopbackV4(0);

// Until the peer ends.
inline void echo(TcpStream& stream) {
    std::array<char, 4096> bytes;
    ErrorCode error;
    while (std::size_t count = stream.read(bytes, error)) stream.write(std::span<const char>(bytes).first(count));
}

// A connected pair on the running fiber's carrier.
struct TcpPair {
    TcpListener listener = TcpListener::listen(anyPort);
    TcpStream client = TcpStream::connect(listener.localAddress(), patience());
    TcpStream server = listener.accept(patience());
};

}  // namespace weft::test
