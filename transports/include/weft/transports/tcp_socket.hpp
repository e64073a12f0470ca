// Operations on a TCP socket that every transport needs: create it, get its addresses, set options.
#pragma once

#include <weft/pipeline/socket_address.hpp>
#include <weft/pipeline/socket_option.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/transports/fd.hpp>

namespace weft {

// A fresh non-blocking, close-on-exec TCP socket for AF_INET or AF_INET6. Context: any thread. Never blocks or throws;
// on failure it sets `error` and returns an empty Fd.
Fd openTcpSocket(int family, SystemCalls& calls, ErrorCode& error) noexcept;
// As above, but throws SystemError.
Fd openTcpSocket(int family, SystemCalls& calls = SystemCalls::kernel());

namespace detail {

// Empty when the kernel reports no address.
SocketAddress localAddressOf(SystemCalls& calls, int fd) noexcept;
SocketAddress remoteAddressOf(SystemCalls& calls, int fd) noexcept;
// Returns and clears the socket's pending error (SO_ERROR).
ErrorCode takeSocketError(SystemCalls& calls, int fd) noexcept;

// Binds and listens. When several sockets do so with the same address at the same time, without SO_REUSEPORT, one
// succeeds and the others get EADDRINUSE; it repeats the call after EADDRINUSE that Linux returns in error.
ErrorCode bindAndListen(SystemCalls& calls, int fd, const SocketAddress& local, int backlog) noexcept;

// Values as for SocketOption. `backlog` is not a kernel option and fails with ENOPROTOOPT, like any option that the
// kernel does not know. A linger time above 0 fails with EOPNOTSUPP, because close() would then block the whole carrier
// (C-6).
ErrorCode setSocketOption(SystemCalls& calls, int fd, SocketOption option, int value) noexcept;
ErrorCode getSocketOption(SystemCalls& calls, int fd, SocketOption option, int& value) noexcept;

// `result`: of a system call, an error as a negative number. True when it failed only because it would block.
bool wouldBlock(ssize_t result) noexcept;
// `error`: a positive errno of a read or write, but not EAGAIN. False for errors that affect only that call: no memory,
// or arguments that the kernel refuses. After any other error the connection is over.
bool endsConnection(int error) noexcept;

// True when the connected socket's peer is the socket itself. The kernel makes such a connection when nothing listens
// on the port and the connecting socket was given that same port, by chance or by a bind. The function then sets the
// socket to reset on close, so that the port is free at once instead of lingering in TIME_WAIT.
bool resetIfConnectedToItself(SystemCalls& calls, int fd, const SocketAddress& remote) noexcept;

}  // namespace detail
}  // namespace weft
