// UringFiberListener: a listening socket for fibers on io_uring. The kernel serves the waiting fibers in FIFO order.
#pragma once

#include "socket_fiber_stream.hpp"
#include "uring/uring_fiber_handle.hpp"

namespace weft {

class UringFiberListener final : public SocketFiberListener<UringFiberHandle> {
  public:
    UringFiberListener(UringIoHandler& handler, Fd fd) noexcept : SocketFiberListener(handler, std::move(fd)) {}
    ~UringFiberListener() override { close(); }

    Fd accept(Deadline deadline, ErrorCode& error) override;
    void close() noexcept override { closeCalls(); }

  private:
    class Accept;
};

}  // namespace weft
