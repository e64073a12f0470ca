// EpollFiberListener: a listening socket for fibers on edge-triggered epoll. One edge may announce many connections, so
// each fiber that gets one wakes the next waiter.
#pragma once

#include <weft/scheduler/suspension.hpp>
#include <weft/transports/epoll/epoll_handle.hpp>
#include <weft/transports/fiber_stream.hpp>

namespace weft {

class EpollFiberListener final : public EpollHandle, public FiberListener {
  public:
    EpollFiberListener(EpollIoHandler& handler, Fd fd) noexcept;
    ~EpollFiberListener() override;

    ErrorCode listen(const SocketAddress& local, int backlog) override;
    Fd accept(Deadline deadline, ErrorCode& error) override;
    void close() noexcept override;
    bool isOpen() const noexcept override { return EpollHandle::isOpen(); }

    ErrorCode setOption(SocketOption option, int value) override;
    SocketAddress localAddress() const override;

    void onEvents(std::uint32_t events) noexcept;

  private:
    struct Acceptor : detail::ReadyLink {
        WakeKey key;
    };

    ErrorCode waitForConnection(Deadline deadline);
    void wakeOne() noexcept;

    detail::ReadyList acceptors_;  // waiting fibers, longest wait first
};

}  // namespace weft
