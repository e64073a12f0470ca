// EpollFiberListener: a listening socket for fibers on edge-triggered epoll. One edge may announce many connections, so
// each fiber that gets one wakes the next waiter.
#pragma once

#include <weft/scheduler/suspension.hpp>
#include <weft/transports/epoll/epoll_handle.hpp>

#include "socket_fiber_stream.hpp"

namespace weft {

class EpollFiberListener final : public SocketFiberListener<EpollHandle> {
  public:
    EpollFiberListener(EpollIoHandler& handler, Fd fd) noexcept
        : SocketFiberListener(handler, EpollHandleKind::fiberListener, std::move(fd)) {}
    ~EpollFiberListener() override { close(); }

    Fd accept(Deadline deadline, ErrorCode& error) override;
    void close() noexcept override;

    void onEvents(std::uint32_t) noexcept { wakeOne(); }

  private:
    struct Acceptor : detail::ReadyLink {
        WakeKey key;
    };

    ErrorCode waitForConnection(Deadline deadline);
    void wakeOne() noexcept;

    detail::ReadyList acceptors_;  // waiting fibers, longest wait first
};

}  // namespace weft
