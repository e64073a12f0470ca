// Errors of sockets: those of accept(), by whom they concern, and the exceptions of a failed connect or bind.
#pragma once

#include <cerrno>
#include <exception>

#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// Rule E-7. The connection failed before it was accepted, or a firewall refused it; skip it, the listener is sound.
// Linux passes pending network errors of the new socket through accept().
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

// The messages contain the address (S-4).
inline std::exception_ptr connectError(const ErrorCode& error, const SocketAddress& remote) {
    return std::make_exception_ptr(SystemError(error, "connect to " + remote.toString()));
}
inline std::exception_ptr bindError(const ErrorCode& error, const SocketAddress& local) {
    return std::make_exception_ptr(SystemError(error, "bind to " + local.toString()));
}

}  // namespace weft::detail
