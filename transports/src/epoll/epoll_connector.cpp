// Connecting: EINPROGRESS, the output edge, SO_ERROR. Then the handle changes its kind and its events go to the stream
// directly, so that an established connection has no extra cost.
#include "epoll/epoll_connector.hpp"

#include <cerrno>

#include <weft/transports/tcp_socket.hpp>

namespace weft {

void EpollConnector::begin() {
    dropPendingEvents();  // an unconnected socket reports a hang-up, which is not about this attempt
    const int result = calls().connect(fd(), remote().data(), remote().size());
    if (result != -EINPROGRESS) ended(fromErrno(result < 0 ? -result : 0));
}

void EpollConnector::onEvents(std::uint32_t events) {
    if (!inProgress() || !(events & (EPOLLOUT | EPOLLERR | EPOLLHUP))) return;
    const bool connected = ended(detail::takeSocketError(calls(), fd()));
    if (connected && isOpen()) EpollStream::onEvents(events & ~std::uint32_t{EPOLLOUT});
}

}  // namespace weft
