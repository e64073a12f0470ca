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
    TcpStream stream(carrier, std::make_unique<detail::SslFiberStream>(socket.release(), carrier, end,
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

// A TcpStream of another kind may have been moved into this one.
void TlsStream::handshake(ErrorCode& error) {
    FiberStream* const stream = usable("TlsStream::handshake", error);
    if (stream == nullptr) return;
    auto* const secured = dynamic_cast<detail::SslFiberStream*>(stream);
    error = secured != nullptr ? secured->handshake(deadline()) : fromErrno(EPROTONOSUPPORT);
}

void TlsStream::handshake() {
    ErrorCode error;
    handshake(error);
    throwIf(error, "TlsStream::handshake");
}

const SslSession& TlsStream::session() const noexcept {
    const auto* const secured = dynamic_cast<const detail::SslFiberStream*>(fiberStream());
    WEFT_ASSERT(secured != nullptr, "TlsStream::session(): never open, moved from, or replaced by a plain stream");
    return secured->engine();
}

}  // namespace weft
