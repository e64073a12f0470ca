// The exception with which a failed connect completes its promise.
#pragma once

#include <exception>

#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// The message contains the address (S-4).
inline std::exception_ptr connectError(const ErrorCode& error, const SocketAddress& remote) {
    return std::make_exception_ptr(SystemError(error, "connect to " + remote.toString()));
}

}  // namespace weft::detail
