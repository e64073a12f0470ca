// Connecting: EINPROGRESS, the output edge, SO_ERROR. Then the handle changes its kind and its events go to the stream
// directly, so that an established connection has no extra cost.
#include "epoll/epoll_connector.hpp"

#include <cerrno>
#include <exception>
#include <string>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "connect_error.hpp"

namespace weft {

void EpollConnector::bind(const SocketAddress& local, ChannelPromise promise) {
    const int result = isOpen() ? calls().bind(fd(), local.data(), local.size()) : -ECANCELED;
    if (result < 0) {
        promise.tryFailure(detail::bindError(fromErrno(-result), local));
    } else {
        promise.trySuccess();
    }
}

void EpollConnector::connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) {
    if (inProgress_ || !isOpen()) {
        promise.tryFailure(detail::connectError(inProgress_ ? fromErrno(EALREADY) : operationAborted(), remote));
        return;
    }
    remote_ = remote;
    connecting_ = std::move(promise);
    inProgress_ = true;
    dropPendingEvents();  // an unconnected socket reports a hang-up, which is not about this attempt
    const int bound = local ? calls().bind(fd(), local->data(), local->size()) : 0;
    if (bound < 0) return failConnecting(detail::bindError(fromErrno(-bound), *local));
    const int result = calls().connect(fd(), remote.data(), remote.size());
    if (result == -EINPROGRESS) return;
    if (ErrorCode error = outcome(fromErrno(result < 0 ? -result : 0))) {
        return failConnecting(detail::connectError(error, remote_));
    }
    becomeStream();
}

// A socket that has connected to itself: nothing listens on that port, and a connect from any other port of this host
// would have been refused, so this one is, too (docs/adr/0011-self-connect.md).
ErrorCode EpollConnector::outcome(const ErrorCode& error) noexcept {
    return !error && detail::resetIfConnectedToItself(calls(), fd(), remote_) ? fromErrno(ECONNREFUSED) : error;
}

void EpollConnector::onEvents(std::uint32_t events) {
    if (!inProgress_ || !(events & (EPOLLOUT | EPOLLERR | EPOLLHUP))) return;
    if (ErrorCode error = outcome(detail::takeSocketError(calls(), fd()))) {
        return failConnecting(detail::connectError(error, remote_));
    }
    becomeStream();
    if (isOpen()) EpollStream::onEvents(events & ~std::uint32_t{EPOLLOUT});
}

void EpollConnector::becomeStream() {
    inProgress_ = false;
    becomeKind(EpollHandleKind::stream);
    std::exchange(connecting_, {}).trySuccess();
}

void EpollConnector::failConnecting(std::exception_ptr cause) {
    inProgress_ = false;
    std::exchange(connecting_, {}).tryFailure(std::move(cause));
}

void EpollConnector::close(ChannelPromise promise) {
    closeSocket();
    if (std::exchange(inProgress_, false)) {
        std::exchange(connecting_, {}).tryFailure(std::make_exception_ptr(ClosedChannelException()));
    }
    promise.trySuccess();
}

}  // namespace weft
