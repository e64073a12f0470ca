// EpollFdWatch: any descriptor in its carrier's epoll set. An edge only means that the descriptor may have become
// ready; poll() decides, because this object does not see the caller's reads and writes.
#pragma once

#include <weft/scheduler/wait_list.hpp>
#include <weft/transports/epoll/epoll_handle.hpp>
#include <weft/transports/fd_watch.hpp>

namespace weft {

class EpollFdWatch final : public EpollHandle, public FdWatch {
  public:
    EpollFdWatch(EpollIoHandler& handler, Fd fd) noexcept
        : EpollHandle(handler, EpollHandleKind::fdWatch, std::move(fd)) {}
    ~EpollFdWatch() override { close(); }

    void close() noexcept override;
    Fd release() noexcept override;
    bool isOpen() const noexcept override { return EpollHandle::isOpen(); }
    int fd() const noexcept override { return EpollHandle::fd(); }

    void onEvents(std::uint32_t events) noexcept;

  protected:
    ErrorCode wait(Direction direction, Deadline deadline) override;

  private:
    // Waiters and poller run on one carrier, so no lock is needed.
    struct NoLock {
        void lock() noexcept {}
        void unlock() noexcept {}
    };

    ErrorCode waitFor(WaitList& waiters, short events, const char* call, Deadline deadline);
    bool isReady(short events, ErrorCode& error) noexcept;
    void wakeAll() noexcept;

    WaitList readers_;
    WaitList writers_;
};

}  // namespace weft
