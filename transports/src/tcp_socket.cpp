// TCP sockets: the table of option names, and the options that take a structure where SocketOption has an int. The only
// file that includes <netinet/tcp.h>.
#include <weft/transports/tcp_socket.hpp>

#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace weft {

Fd openTcpSocket(int family, SystemCalls& calls, ErrorCode& error) noexcept {
    const int fd = calls.socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    error = fd < 0 ? fromErrno(-fd) : ErrorCode();
    return fd < 0 ? Fd() : Fd(fd, calls);
}

Fd openTcpSocket(int family, SystemCalls& calls) {
    ErrorCode error;
    Fd fd = openTcpSocket(family, calls, error);
    if (error) throw SystemError(error, "socket");
    return fd;
}

namespace detail {

namespace {

struct KernelOption {
    int level;
    int name;
};

constexpr KernelOption none{-1, -1};

KernelOption kernelOption(SocketOption option, int family) noexcept {
    switch (option) {
        case SocketOption::reuseAddress: return {SOL_SOCKET, SO_REUSEADDR};
        case SocketOption::reusePort: return {SOL_SOCKET, SO_REUSEPORT};
        case SocketOption::backlog: return none;
        case SocketOption::noDelay: return {IPPROTO_TCP, TCP_NODELAY};
        case SocketOption::keepAlive: return {SOL_SOCKET, SO_KEEPALIVE};
        case SocketOption::keepIdle: return {IPPROTO_TCP, TCP_KEEPIDLE};
        case SocketOption::keepInterval: return {IPPROTO_TCP, TCP_KEEPINTVL};
        case SocketOption::keepCount: return {IPPROTO_TCP, TCP_KEEPCNT};
        case SocketOption::linger: return {SOL_SOCKET, SO_LINGER};
        case SocketOption::sendBuffer: return {SOL_SOCKET, SO_SNDBUF};
        case SocketOption::receiveBuffer: return {SOL_SOCKET, SO_RCVBUF};
        case SocketOption::userTimeout: return {IPPROTO_TCP, TCP_USER_TIMEOUT};
        case SocketOption::quickAck: return {IPPROTO_TCP, TCP_QUICKACK};
        case SocketOption::cork: return {IPPROTO_TCP, TCP_CORK};
        case SocketOption::deferAccept: return {IPPROTO_TCP, TCP_DEFER_ACCEPT};
        case SocketOption::fastOpen: return {IPPROTO_TCP, TCP_FASTOPEN};
        case SocketOption::fastOpenConnect: return {IPPROTO_TCP, TCP_FASTOPEN_CONNECT};
        case SocketOption::notSentLowat: return {IPPROTO_TCP, TCP_NOTSENT_LOWAT};
        case SocketOption::busyPoll: return {SOL_SOCKET, SO_BUSY_POLL};
        case SocketOption::trafficClass:
            return family == AF_INET6 ? KernelOption{IPPROTO_IPV6, IPV6_TCLASS} : KernelOption{IPPROTO_IP, IP_TOS};
    }
    return none;
}

// Only the traffic class depends on the address family; the other options need no look-up.
KernelOption kernelOption(SystemCalls& calls, int fd, SocketOption option) noexcept {
    const int family = option == SocketOption::trafficClass ? localAddressOf(calls, fd).family() : AF_INET;
    return kernelOption(option, family);
}

ErrorCode setLinger(SystemCalls& calls, int fd, int seconds) noexcept {
    if (seconds > 0) return fromErrno(EOPNOTSUPP);
    const struct linger value { seconds == 0 ? 1 : 0, 0 };
    const int result = calls.setsockopt(fd, SOL_SOCKET, SO_LINGER, &value, sizeof value);
    return result < 0 ? fromErrno(-result) : ErrorCode();
}

ErrorCode getLinger(SystemCalls& calls, int fd, int& seconds) noexcept {
    struct linger value {};
    socklen_t size = sizeof value;
    const int result = calls.getsockopt(fd, SOL_SOCKET, SO_LINGER, &value, &size);
    if (result < 0) return fromErrno(-result);
    seconds = value.l_onoff ? value.l_linger : -1;
    return {};
}

template <class GetAddress>
SocketAddress addressFrom(GetAddress get) noexcept {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    if (get(reinterpret_cast<sockaddr*>(&storage), &size) < 0) return {};
    return SocketAddress::from(reinterpret_cast<const sockaddr*>(&storage), size);
}

}  // namespace

SocketAddress localAddressOf(SystemCalls& calls, int fd) noexcept {
    return addressFrom([&](sockaddr* address, socklen_t* size) { return calls.getsockname(fd, address, size); });
}

SocketAddress remoteAddressOf(SystemCalls& calls, int fd) noexcept {
    return addressFrom([&](sockaddr* address, socklen_t* size) { return calls.getpeername(fd, address, size); });
}

// With SO_REUSEADDR, bind() succeeds for several sockets as long as none of them listens, so listen() decides. But
// Linux marks a socket as listening before it looks for others, so that two simultaneous calls may both fail. They
// retry until one is first. If another socket was already listening, bind() has failed, and there are no retries.
ErrorCode bindAndListen(SystemCalls& calls, int fd, const SocketAddress& local, int backlog) noexcept {
    constexpr int mostTries = 64;
    int result = calls.bind(fd, local.data(), local.size());
    if (result < 0) return fromErrno(-result);
    result = calls.listen(fd, backlog);
    for (int tries = 1; result == -EADDRINUSE && tries < mostTries; ++tries) result = calls.listen(fd, backlog);
    return result < 0 ? fromErrno(-result) : ErrorCode();
}

ErrorCode takeSocketError(SystemCalls& calls, int fd) noexcept {
    int error = 0;
    socklen_t size = sizeof error;
    const int result = calls.getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return fromErrno(result < 0 ? -result : error);
}

ErrorCode setSocketOption(SystemCalls& calls, int fd, SocketOption option, int value) noexcept {
    if (option == SocketOption::linger) return setLinger(calls, fd, value);
    const KernelOption kernel = kernelOption(calls, fd, option);
    if (kernel.level < 0) return fromErrno(ENOPROTOOPT);
    const int result = calls.setsockopt(fd, kernel.level, kernel.name, &value, sizeof value);
    return result < 0 ? fromErrno(-result) : ErrorCode();
}

ErrorCode getSocketOption(SystemCalls& calls, int fd, SocketOption option, int& value) noexcept {
    if (option == SocketOption::linger) return getLinger(calls, fd, value);
    const KernelOption kernel = kernelOption(calls, fd, option);
    if (kernel.level < 0) return fromErrno(ENOPROTOOPT);
    socklen_t size = sizeof value;
    const int result = calls.getsockopt(fd, kernel.level, kernel.name, &value, &size);
    return result < 0 ? fromErrno(-result) : ErrorCode();
}

bool wouldBlock(ssize_t result) noexcept {
    return result == -EAGAIN || result == -EWOULDBLOCK;
}

bool endsConnection(int error) noexcept {
    switch (error) {
        case ENOMEM:
        case ENOBUFS:
        case EFAULT:
        case EINVAL:
        case EMSGSIZE: return false;
        default: return true;
    }
}

// Gets the second address only if the ports are equal; for most connections the first comparison suffices.
bool resetIfConnectedToItself(SystemCalls& calls, int fd, const SocketAddress& remote) noexcept {
    const SocketAddress local = localAddressOf(calls, fd);
    if (local.empty() || local.port() != remote.port() || !(local == remoteAddressOf(calls, fd))) return false;
    setSocketOption(calls, fd, SocketOption::linger, 0);
    return true;
}

}  // namespace detail
}  // namespace weft
