// UringFiberStream: a TCP connection for fibers on io_uring. Each call is one operation in the frame of its fiber, which
// does not return before the kernel has completed it.
#pragma once

#include <span>

#include <weft/pipeline/buffer.hpp>
#include <weft/transports/fiber_stream.hpp>

#include "io_waiter.hpp"
#include "uring/uring_handle.hpp"

namespace weft {

class UringFiberStream final : public UringHandle, public FiberStream {
  public:
    UringFiberStream(UringIoHandler& handler, Fd fd) noexcept : UringHandle(handler, std::move(fd)) {}
    ~UringFiberStream() override;

    ErrorCode connect(const SocketAddress& remote, Deadline deadline) override;
    std::size_t readSome(std::span<char> into, Deadline deadline, ErrorCode& error) override;
    Buffer readSome(std::size_t most, Deadline deadline, ErrorCode& error) override;
    std::size_t writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) override;
    std::size_t tryReadSome(std::span<char> into, ErrorCode& error) noexcept override;
    std::size_t tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept override;
    ErrorCode shutdownOutput() override;
    void close() noexcept override;
    bool isOpen() const noexcept override { return !closed_ && UringHandle::isOpen(); }

    ErrorCode setOption(SocketOption option, int value) override;
    ErrorCode getOption(SocketOption option, int& value) const override;
    SocketAddress localAddress() const override;
    SocketAddress remoteAddress() const override;

  protected:
    void dispatch() override {}
    void abort() noexcept override { close(); }

  private:
    class Call;
    class Connect;
    class Read;
    class Write;

    // What the call came to: a count, or an error as a negative number. `direct`: the same as a system call.
    ssize_t run(Call& call, const char* name, Deadline deadline, Call*& place);
    template <class Direct>
    ssize_t transfer(Direct direct, Call& call, const char* name, Deadline deadline, Call*& place);
    ssize_t receive(std::size_t most, Deadline deadline, Buffer& into);
    ErrorCode inputEnded(ssize_t result) noexcept;
    ErrorCode outputFailed(ssize_t result) noexcept;
    void noteLoss(int error) noexcept;
    ErrorCode refuseItself(const SocketAddress& remote) noexcept;

    detail::IoWaiter reader_;  // claims only: the calls wait by themselves
    detail::IoWaiter writer_;
    Call* reading_ = nullptr;  // in flight
    Call* writing_ = nullptr;
    int lost_ = 0;         // the error that ended the connection
    bool large_ = false;   // the last read has filled its buffer
    bool closed_ = false;  // the descriptor closes when nothing is in flight
};

}  // namespace weft
