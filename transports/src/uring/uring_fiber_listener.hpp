// UringFiberListener: a listening socket for fibers on io_uring. The kernel serves the waiting fibers in FIFO order.
#pragma once

#include <weft/transports/fiber_stream.hpp>

#include "uring/uring_fiber_handle.hpp"

namespace weft {

class UringFiberListener final : public UringFiberHandle, public FiberListener {
  public:
    UringFiberListener(UringIoHandler& handler, Fd fd) noexcept : UringFiberHandle(handler, std::move(fd)) {}
    ~UringFiberListener() override;

    ErrorCode listen(const SocketAddress& local, int backlog) override;
    Fd accept(Deadline deadline, ErrorCode& error) override;
    void close() noexcept override { closeCalls(); }
    bool isOpen() const noexcept override { return UringFiberHandle::isOpen(); }

    ErrorCode setOption(SocketOption option, int value) override;
    SocketAddress localAddress() const override;

  private:
    class Accept;

    int acceptNow() noexcept;
};

}  // namespace weft
