// The exceptions with which a failed connect or bind completes its promise.
#pragma once

#include <exception>

#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// The messages contain the address (S-4).
inline std::exception_ptr connectError(const ErrorCode& error, const SocketAddress& remote) {
    return std::make_exception_ptr(SystemError(error, "connect to " + remote.toString()));
}
inline std::exception_ptr bindError(const ErrorCode& error, const SocketAddress& local) {
    return std::make_exception_ptr(SystemError(error, "bind to " + local.toString()));
}

}  // namespace weft::detail
