#include <weft/framework/server.hpp>

#include "server_drain.hpp"
#include "server_state.hpp"

namespace weft {

const SocketAddress& Server::localAddress() const noexcept {
    return state_->localAddress;
}

const std::vector<ChannelRef>& Server::listeners() const noexcept {
    return state_->listeners;
}

std::size_t Server::liveChildren() const noexcept {
    return state_->liveChildren();
}

Future<void> Server::close() {
    return state_->closeListeners();
}

std::size_t Server::drain(Duration timeout) {
    return detail::drainServers({state_}, deadlineAfter(timeout), timeout);
}

}  // namespace weft
