// EpollFiberStream: a TCP connection for fibers on edge-triggered epoll. It joins the epoll set when a fiber first has
// to wait; until then it needs no events.
#pragma once

#include <weft/transports/epoll/epoll_handle.hpp>

#include "socket_fiber_stream.hpp"

namespace weft {

class EpollFiberStream final : public SocketFiberStream<EpollHandle> {
  public:
    EpollFiberStream(EpollIoHandler& handler, Fd fd) noexcept
        : SocketFiberStream(handler, EpollHandleKind::fiberStream, std::move(fd)) {}
    ~EpollFiberStream() override { close(); }

    ErrorCode connect(const SocketAddress& remote, Deadline deadline) override;
    std::size_t readSome(std::span<char> into, Deadline deadline, ErrorCode& error) override;
    Buffer readSome(std::size_t most, Deadline deadline, ErrorCode& error) override;
    std::size_t writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) override;
    std::size_t tryReadSome(std::span<char> into, ErrorCode& error) noexcept override;
    std::size_t tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept override;
    void interruptReads() noexcept override { reader_.interrupt(); }
    void close() noexcept override;

    void onEvents(std::uint32_t events) noexcept;

  private:
    ErrorCode awaitConnected(Deadline deadline);
    template <class Receive>
    void readWith(Receive receive, Deadline deadline, ErrorCode& error);
    ssize_t receive(std::span<char> into) noexcept;
    ssize_t receive(std::size_t most, Buffer& into) noexcept;
    ErrorCode waitFor(detail::IoWaiter& waiter, const char* call, Deadline deadline);
    ErrorCode inputEnded(ssize_t result) noexcept;
    ErrorCode outputFailed(ssize_t result) noexcept;
    void noteLoss(int error) noexcept;

    detail::IoWaiter reader_;
    detail::IoWaiter writer_;
    int lost_ = 0;               // the errno that ended the connection, from whichever call failed first; 0: none
    bool readable_ = true;       // no read has emptied the socket since the last edge
    bool neverEmptied_ = false;  // a short read may leave data without an edge: the end, or bytes after an urgent one
};

}  // namespace weft
