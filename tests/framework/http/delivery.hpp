// Sends and resets of a hostile server that have reached the client's kernel when the call returns.
#pragma once

#include <string_view>
#include <thread>

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace weft::test {

// Returns once the peer's kernel has all of it, or the connection is broken; false when the peer does not accept it.
inline bool sendUntilTaken(int peer, std::string_view bytes) {
    if (bytes.empty()) return true;
    if (::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) return false;
    pollfd broken{peer, 0, 0};
    for (int unacknowledged = 1; unacknowledged != 0; std::this_thread::yield()) {
        if (::ioctl(peer, SIOCOUTQ, &unacknowledged) != 0 || ::poll(&broken, 1, 0) != 0) break;
    }
    return true;
}

// Sends a reset and keeps the descriptor open.
inline void resetAndKeep(int peer) {
    const linger now{1, 0};
    ::setsockopt(peer, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    const sockaddr nowhere{AF_UNSPEC, {}};
    ::connect(peer, &nowhere, sizeof nowhere);
}

}  // namespace weft::test
