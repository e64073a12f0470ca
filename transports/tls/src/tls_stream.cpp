#include <weft/tls/tls_stream.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/scheduler/assert.hpp>

#include "ssl_fiber_stream.hpp"

namespace weft {

namespace {

Deadline handshakeEnd(const TlsStreamOptions& options) {
    if (options.handshakeTimeout < Duration::zero())
        throw std::invalid_argument("TlsStream: handshakeTimeout is negative; accepted: 0 (no limit) or more");
    return options.handshakeTimeout == Duration::zero() ? never : deadlineAfter(options.handshakeTimeout);
}

void requireSide(const SslContext& context, bool server) {
    if (context.isServer() == server) return;
    throw std::invalid_argument(server ? "TlsStream: the context is a client's; a client needs the server's name, too"
                                       : "TlsStream: the context is a server's, which takes no server name");
}

template <class... Arguments>
TcpStream secured(TcpStream& socket, Deadline end, Arguments&&... arguments) {
    if (socket.carrier() == nullptr) return {};
    const Deadline deadline = socket.deadline();
    Carrier& carrier = *socket.carrier();
    TcpStream stream(carrier, std::make_unique<detail::SslFiberStream>(socket.release(), end,
                                                                       std::forward<Arguments>(arguments)...));
    stream.setDeadline(deadline);
    return stream;
}

}  // namespace

TlsStream::TlsStream(TcpStream socket, const SslContext& server, const TlsStreamOptions& options) {
    requireSide(server, true);
    TcpStream::operator=(secured(socket, handshakeEnd(options), server));
}

TlsStream::TlsStream(TcpStream socket, const SslContext& client, std::string_view serverName,
                     const TlsStreamOptions& options) {
    requireSide(client, false);
    TcpStream::operator=(secured(socket, handshakeEnd(options), client, serverName));
}

void TlsStream::handshake(ErrorCode& error) {
    FiberStream* const stream = usable("TlsStream::handshake", error);
    if (stream != nullptr) error = static_cast<detail::SslFiberStream*>(stream)->handshake(deadline());
}

void TlsStream::handshake() {
    ErrorCode error;
    handshake(error);
    throwIf(error, "TlsStream::handshake");
}

const SslSession& TlsStream::session() const noexcept {
    WEFT_ASSERT(fiberStream() != nullptr, "TlsStream::session(): the stream has never been open, or was moved from");
    return static_cast<const detail::SslFiberStream&>(*fiberStream()).engine();
}

}  // namespace weft
