#include "uring/uring_connector.hpp"

#include <cerrno>
#include <exception>
#include <string>

#include <liburing.h>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "connect_error.hpp"

namespace weft {

const UringOperation::Kind UringConnector::Connect::kind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        UringConnector& self = static_cast<Connect&>(operation).connector;
        io_uring_prep_connect(&entry, self.fd(), self.remote_.data(), self.remote_.size());
    },
    [](UringOperation& operation, int result, unsigned) {
        static_cast<Connect&>(operation).connector.completed(result);
    }};

void UringConnector::bind(const SocketAddress& local, ChannelPromise promise) {
    const int result = isOpen() ? calls().bind(fd(), local.data(), local.size()) : -ECANCELED;
    if (result < 0) {
        promise.tryFailure(detail::bindError(fromErrno(-result), local));
    } else {
        promise.trySuccess();
    }
}

void UringConnector::connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) {
    if (inProgress_ || connect_.inFlight() || !isOpen() || leaving()) {
        promise.tryFailure(detail::connectError(inProgress_ ? fromErrno(EALREADY) : operationAborted(), remote));
        return;
    }
    remote_ = remote;
    connecting_ = std::move(promise);
    inProgress_ = true;
    const int bound = local ? calls().bind(fd(), local->data(), local->size()) : 0;
    if (bound < 0) return failConnecting(detail::bindError(fromErrno(-bound), *local));
    start(connect_);
}

void UringConnector::completed(int result) {
    if (leaving() || !inProgress_) return operationEnded();  // closed, so the promise has failed; or leaving
    ErrorCode error = fromErrno(result < 0 ? -result : 0);
    // A socket that has connected to itself: nothing listens on that port, and a connect from any other port of this
    // host would have been refused, so this one is, too (docs/adr/0011-self-connect.md).
    if (!error && detail::resetIfConnectedToItself(calls(), fd(), remote_)) error = fromErrno(ECONNREFUSED);
    if (error) return failConnecting(detail::connectError(error, remote_));
    inProgress_ = false;
    std::exchange(connecting_, {}).trySuccess();
}

void UringConnector::failConnecting(std::exception_ptr cause) {
    inProgress_ = false;
    std::exchange(connecting_, {}).tryFailure(std::move(cause));
}

void UringConnector::cancelAll() noexcept {
    cancel(connect_);
    UringStream::cancelAll();
}

void UringConnector::close(ChannelPromise promise) {
    if (std::exchange(inProgress_, false)) {
        std::exchange(connecting_, {}).tryFailure(std::make_exception_ptr(ClosedChannelException()));
    }
    UringStream::close(std::move(promise));
}

}  // namespace weft
