// The failure of a connect, for its promise.
#pragma once

#include <exception>

#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// Names the address (S-4).
inline std::exception_ptr connectError(const ErrorCode& error, const SocketAddress& remote) {
    return std::make_exception_ptr(SystemError(error, "connect to " + remote.toString()));
}

}  // namespace weft::detail
