// TcpListener: checks the context of each call, then forwards to the transport's FiberListener, which does everything
// that depends on the kernel's interface.
#include <weft/transports/tcp_listener.hpp>

#include <weft/scheduler/carrier.hpp>
#include <weft/transports/socket_io_handler.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "fiber_home.hpp"

namespace weft {

TcpListener TcpListener::listen(const SocketAddress& local, TcpListenOptions options) {
    ErrorCode error;
    TcpListener listener = listen(local, options, error);
    if (error) throw SystemError(error, "TcpListener::listen on " + local.toString());
    return listener;
}

TcpListener TcpListener::listen(const SocketAddress& local, TcpListenOptions options, ErrorCode& error) {
    Carrier& carrier = detail::requireFiberCarrier("TcpListener::listen");
    SocketIoHandler* handler = detail::requireSockets(carrier, "TcpListener::listen", error);
    if (!handler) return {};
    Fd fd = openTcpSocket(local.family(), handler->systemCalls(), error);
    if (error) return {};
    TcpListener listener(carrier, handler->fiberListener(std::move(fd)));
    FiberListener& socket = *listener.listener_;
    error = socket.setOption(SocketOption::reuseAddress, options.reuseAddress);
    // Accepted sockets inherit it from the listener.
    if (!error) error = socket.setOption(SocketOption::noDelay, options.noDelay);
    if (!error && options.reusePort) error = socket.setOption(SocketOption::reusePort, 1);
    if (!error) error = socket.listen(local, options.backlog);
    return error ? TcpListener() : std::move(listener);
}

TcpListener::TcpListener() noexcept = default;
TcpListener::TcpListener(Carrier& carrier, std::unique_ptr<FiberListener> listener) noexcept
    : carrier_(&carrier), listener_(std::move(listener)) {}
TcpListener::TcpListener(TcpListener&&) noexcept = default;
TcpListener& TcpListener::operator=(TcpListener&& other) noexcept {
    if (listener_) detail::comeHomeTo(*carrier_);
    carrier_ = other.carrier_;
    listener_ = std::move(other.listener_);
    return *this;
}
TcpListener::~TcpListener() {
    if (listener_) detail::comeHomeTo(*carrier_);
}

TcpStream TcpListener::accept(Deadline deadline) {
    ErrorCode error;
    TcpStream stream = accept(deadline, error);
    if (error) throw SystemError(error, "TcpListener::accept");
    return stream;
}

TcpStream TcpListener::accept(Deadline deadline, ErrorCode& error) {
    if (!listener_) {
        error = operationAborted();
        return {};
    }
    detail::requireHome(*carrier_, "TcpListener::accept");
    Fd fd = listener_->accept(deadline, error);
    SocketIoHandler* handler = error ? nullptr : detail::requireSockets(*carrier_, "TcpListener::accept", error);
    return handler ? TcpStream(*carrier_, handler->fiberStream(std::move(fd))) : TcpStream();
}

void TcpListener::close() noexcept {
    if (!listener_) return;
    detail::comeHomeTo(*carrier_);
    listener_->close();
}

bool TcpListener::isOpen() const noexcept {
    return listener_ && listener_->isOpen();
}

SocketAddress TcpListener::localAddress() const {
    return listener_ ? listener_->localAddress() : SocketAddress();
}

}  // namespace weft
