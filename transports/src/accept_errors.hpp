// Classifies errors of accept() (rule E-7): does one concern a single connection, or the listener?
#pragma once

#include <cerrno>

namespace weft::detail {

// The connection failed before it was accepted, or a firewall refused it; skip it, the listener is sound. Linux passes
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
        case ETIMEDOUT: return true;
        default: return false;
    }
}

}  // namespace weft::detail
