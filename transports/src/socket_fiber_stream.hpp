// SocketFiberStream, SocketFiberListener: the part of a fiber's socket that does not depend on the transport.
#pragma once

#include <cerrno>
#include <span>

#include <sys/socket.h>

#include <weft/transports/fiber_stream.hpp>

#include "io_waiter.hpp"
#include "socket_properties.hpp"

namespace weft {

// Handle: EpollHandle or UringFiberReader. Context: as for FiberStream.
template <class Handle>
class SocketFiberStream : public SocketProperties<Handle, FiberStream> {
  public:
    bool isOpen() const noexcept override { return Handle::isOpen(); }
    ErrorCode shutdownOutput(Deadline) override {
        if (!isOpen()) return operationAborted();
        this->submitStarted();
        const int result = this->calls().shutdown(this->fd(), SHUT_WR);
        return result < 0 ? fromErrno(-result) : ErrorCode();
    }

  protected:
    using SocketProperties<Handle, FiberStream>::SocketProperties;

    // The outcome of a connect that has succeeded: refused if the socket is its own peer, as from any other port of
    // this host: nothing listens there (docs/adr/0011-self-connect.md).
    ErrorCode refuseItself(const SocketAddress& remote) noexcept {
        return detail::resetIfConnectedToItself(this->calls(), this->fd(), remote) ? fromErrno(ECONNREFUSED)
                                                                                   : ErrorCode();
    }
    ssize_t send(std::span<const iovec> parts) noexcept {
        if (parts.size() == 1) return this->calls().send(this->fd(), parts[0].iov_base, parts[0].iov_len);
        return this->calls().sendv(this->fd(), parts.data(), parts.size());
    }
    // One system call in the direction of `waiter`; `failed(result)` is the error of one that failed.
    template <class Call, class Failed>
    std::size_t attempt(detail::IoWaiter& waiter, Call call, Failed failed, ErrorCode& error) noexcept {
        error = isOpen() ? ErrorCode() : operationAborted();
        const detail::IoWaiter::Claim claim(waiter);
        if (!claim) error = detail::IoWaiter::alreadyInUse();
        if (error) return 0;
        const ssize_t count = call();
        if (count >= 0) return static_cast<std::size_t>(count);
        error = detail::wouldBlock(count) ? fromErrno(EAGAIN) : failed(count);
        return 0;
    }
};

// Handle: EpollHandle or UringFiberHandle. Context: as for FiberListener.
template <class Handle>
class SocketFiberListener : public Handle, public FiberListener {
  public:
    bool isOpen() const noexcept override { return Handle::isOpen(); }
    ErrorCode listen(const SocketAddress& local, int backlog) override {
        return detail::bindAndListen(this->calls(), this->fd(), local, backlog);
    }
    ErrorCode setOption(SocketOption option, int value) override {
        return isOpen() ? detail::setSocketOption(this->calls(), this->fd(), option, value) : operationAborted();
    }
    SocketAddress localAddress() const override { return detail::localAddressOf(this->calls(), this->fd()); }

  protected:
    using Handle::Handle;

    int acceptNow() noexcept {
        return this->calls().accept4(this->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
};

}  // namespace weft
