// What the errors of accept() mean (rule E-7): the connection is gone, or this process has no room for it now.
#pragma once

#include <cerrno>

namespace weft::detail {

// The connection failed before it was accepted, or a firewall refused it: skip it, the listener is well. Linux passes
// pending network errors of the new socket through accept().
inline bool connectionWasLost(int error) noexcept {
    switch (error) {
        case ECONNABORTED:
        case EPROTO:
        case EPERM:
        case ENETDOWN:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH:
        case ETIMEDOUT:
            return true;
        default:
            return false;
    }
}

// Descriptors or memory have run out: the connection stays in the backlog and accepting at once would spin.
inline bool resourcesAreShort(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace weft::detail
