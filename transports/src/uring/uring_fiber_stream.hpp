// UringFiberStream: a TCP connection for fibers on io_uring.
#pragma once

#include <new>
#include <span>

#include "socket_fiber_stream.hpp"
#include "uring/uring_fiber_reader.hpp"

namespace weft {

class UringFiberStream final : public SocketFiberStream<UringFiberReader> {
  public:
    UringFiberStream(UringIoHandler& handler, Fd fd) noexcept : SocketFiberStream(handler, std::move(fd)) {}
    // Closes. The memory is freed once the kernel has ended the receive in flight.
    static void operator delete(UringFiberStream* stream, std::destroying_delete_t) noexcept;

    ErrorCode connect(const SocketAddress& remote, Deadline deadline) override;
    std::size_t readSome(std::span<char> into, Deadline deadline, ErrorCode& error) override {
        return read(into, deadline, error);
    }
    Buffer readSome(std::size_t most, Deadline deadline, ErrorCode& error) override {
        return read(most, deadline, error);
    }
    std::size_t writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) override;
    std::size_t tryReadSome(std::span<char> into, ErrorCode& error) noexcept override { return tryRead(into, error); }
    std::size_t tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept override;
    void interruptReads() noexcept override { interrupt(); }
    void close() noexcept override;

  private:
    class Connect;
    class Write;

    void abort() noexcept override { close(); }
    void operationEnded() noexcept override;
    void cutOff() noexcept override;
    void destroy() noexcept;

    detail::IoWaiter writer_;  // used for claims only: the calls wait by themselves
    bool released_ = false;    // deleted, but the memory is still in use
};

}  // namespace weft
