// The few things that every transport does to a TCP socket: make one, ask for its addresses, set an option.
#pragma once

#include <weft/pipeline/socket_address.hpp>
#include <weft/pipeline/socket_option.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/transports/fd.hpp>

namespace weft {

// A fresh non-blocking, close-on-exec TCP socket for AF_INET or AF_INET6. Context: any thread. Never blocks or throws;
// on refusal `error` is set and the result is empty.
Fd openTcpSocket(int family, SystemCalls& calls, ErrorCode& error) noexcept;
// The same; throws SystemError.
Fd openTcpSocket(int family, SystemCalls& calls = SystemCalls::kernel());

namespace detail {

// Empty when the kernel has none to tell.
SocketAddress localAddressOf(SystemCalls& calls, int fd) noexcept;
SocketAddress remoteAddressOf(SystemCalls& calls, int fd) noexcept;
// Takes the socket's pending error (SO_ERROR) off.
ErrorCode takeSocketError(SystemCalls& calls, int fd) noexcept;

// Of several sockets that do this with one address at the same time, without SO_REUSEPORT, one succeeds; the others get
// EADDRINUSE.
ErrorCode bindAndListen(SystemCalls& calls, int fd, const SocketAddress& local, int backlog) noexcept;

// Values as SocketOption says. `backlog` is none of the kernel's options and is refused with ENOPROTOOPT, as is what
// the kernel does not know. A linger time above 0 is refused with EOPNOTSUPP: close() would block the whole carrier
// (C-6).
ErrorCode setSocketOption(SystemCalls& calls, int fd, SocketOption option, int value) noexcept;
ErrorCode getSocketOption(SystemCalls& calls, int fd, SocketOption option, int& value) noexcept;

// True for the errors of a read, write or accept that only mean "not now".
bool wouldBlock(ssize_t result) noexcept;
// False for the errors of a read or write that concern that call alone: no memory, or arguments that the kernel
// refuses. After any other error the connection is over.
bool concernsConnection(int error) noexcept;

// True when the connected socket's peer is the socket itself. The kernel makes such a connection when nobody listens on
// the port and the connecting socket has been given the same one: by chance, or by a bind. Closing the socket is then
// made to reset the connection, so that the port is free at once and does not linger in TIME_WAIT.
bool connectedToItself(SystemCalls& calls, int fd, const SocketAddress& remote) noexcept;

}  // namespace detail
}  // namespace weft
