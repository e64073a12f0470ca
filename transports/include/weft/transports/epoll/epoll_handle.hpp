// EpollHandle: the base of every object on the epoll handler: one descriptor, registered once, and a link in the ready
// list. It knows neither channels nor fibers.
#pragma once

#include <cstdint>

#include <weft/scheduler/errors.hpp>
#include <weft/transports/detail/ready_list.hpp>
#include <weft/transports/fd.hpp>

namespace weft {

class EpollIoHandler;

// The set of kinds is small and closed, so that an event costs a switch and a direct call instead of a virtual one.
enum class EpollHandleKind : std::uint8_t { stream, connector, listener, fiberStream, fiberListener, fdWatch };

// Context: the handler's carrier, except construction (any thread) and destruction of an unregistered handle (any
// thread).
class EpollHandle : private detail::ReadyLink {
  public:
    EpollHandle(EpollIoHandler& handler, EpollHandleKind kind, Fd fd) noexcept;
    EpollHandle(const EpollHandle&) = delete;
    EpollHandle& operator=(const EpollHandle&) = delete;

    bool isOpen() const noexcept { return static_cast<bool>(fd_); }
    bool isRegistered() const noexcept { return slot_ != noSlot; }

  protected:
    // Leaves the poller and closes the descriptor, unless that has already happened.
    ~EpollHandle();

    // Registers once for input, urgent, output and hang-up edges; no later epoll_ctl changes that. Does nothing when
    // the handle is already registered.
    [[nodiscard]] ErrorCode tryAttach();
    // As tryAttach(), but throws SystemError.
    void attach();
    // Leaves the poller; no event of this batch or a later one reaches the handle. With `keepOpen` the descriptor stays
    // open and is removed from the epoll set. Otherwise the caller is about to close it, which removes it without a
    // call, unless another descriptor of the same open file is left: its events are then dropped, but still end waits.
    void detach(bool keepOpen) noexcept;
    // Calls detach() and closes the descriptor. Idempotent.
    void closeHandle() noexcept;
    // Calls detach() and returns the open descriptor. Empty when it is closed.
    Fd releaseHandle() noexcept;
    // Requests one more dispatch, in one of the next polls, none of which blocks before that dispatch. If the kernel
    // has already reported an event for this handle, the current poll dispatches it. Does nothing when a dispatch is
    // already due.
    void requeue() noexcept;
    // Drops events that were collected for an earlier state of the socket.
    void dropPendingEvents() noexcept;
    void becomeKind(EpollHandleKind kind) noexcept { kind_ = kind; }
    // For code that io_uring shares: no operation waits to be submitted.
    void submitStarted() noexcept {}

    EpollIoHandler& handler() const noexcept { return *handler_; }
    SystemCalls& calls() const noexcept { return *calls_; }
    int fd() const noexcept { return fd_.get(); }

  private:
    friend class EpollIoHandler;
    static constexpr std::uint32_t noSlot = ~std::uint32_t{0};

    EpollIoHandler* handler_;  // not touched after detach(): the handle may outlive its handler
    SystemCalls* calls_;
    Fd fd_;
    std::uint32_t slot_ = noSlot;
    std::uint32_t pending_ = 0;  // epoll bits collected into a batch and not dispatched yet
    EpollHandleKind kind_;
};

}  // namespace weft
