// UringFiberStream: a TCP connection for fibers on io_uring.
#pragma once

#include <span>

#include <weft/pipeline/buffer.hpp>
#include <weft/transports/fiber_stream.hpp>

#include "io_waiter.hpp"
#include "uring/uring_fiber_handle.hpp"

namespace weft {

class UringFiberStream final : public UringFiberHandle, public FiberStream {
  public:
    UringFiberStream(UringIoHandler& handler, Fd fd) noexcept : UringFiberHandle(handler, std::move(fd)) {}
    ~UringFiberStream() override;

    ErrorCode connect(const SocketAddress& remote, Deadline deadline) override;
    std::size_t readSome(std::span<char> into, Deadline deadline, ErrorCode& error) override;
    Buffer readSome(std::size_t most, Deadline deadline, ErrorCode& error) override;
    std::size_t writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) override;
    std::size_t tryReadSome(std::span<char> into, ErrorCode& error) noexcept override;
    std::size_t tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept override;
    ErrorCode shutdownOutput() override;
    void close() noexcept override { closeCalls(); }
    bool isOpen() const noexcept override { return UringFiberHandle::isOpen(); }

    ErrorCode setOption(SocketOption option, int value) override;
    ErrorCode getOption(SocketOption option, int& value) const override;
    SocketAddress localAddress() const override;
    SocketAddress remoteAddress() const override;

  private:
    class Connect;
    class Read;
    class Write;

    ssize_t receive(std::size_t most, Deadline deadline, Buffer& into);
    ErrorCode inputEnded(ssize_t result) noexcept;
    ErrorCode outputFailed(ssize_t result) noexcept;
    void noteResult(int result) noexcept;
    void noteLoss(int error) noexcept;
    ErrorCode refuseItself(const SocketAddress& remote) noexcept;

    detail::IoWaiter reader_;  // claims only: the calls wait by themselves
    detail::IoWaiter writer_;
    int lost_ = 0;        // the error that ended the connection
    bool large_ = false;  // the last read has filled its buffer
};

}  // namespace weft
