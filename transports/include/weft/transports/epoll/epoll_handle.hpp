// EpollHandle: what every user of the epoll handler is made on: one descriptor, registered once, and a place in the
// ready list. It knows neither channels nor fibers.
#pragma once

#include <cstdint>

#include <weft/scheduler/errors.hpp>
#include <weft/transports/detail/ready_list.hpp>
#include <weft/transports/fd.hpp>

namespace weft {

class EpollIoHandler;

// The kinds are few and known, so that an event costs a switch and a direct call instead of a virtual one.
enum class EpollHandleKind : std::uint8_t { stream, connector, listener, fiberStream, fiberListener, fdWatch };

// Context: the handler's carrier, except construction (any thread) and destruction of one that is not registered.
class EpollHandle : private detail::ReadyLink {
  public:
    EpollHandle(EpollIoHandler& handler, EpollHandleKind kind, Fd fd) noexcept;
    EpollHandle(const EpollHandle&) = delete;
    EpollHandle& operator=(const EpollHandle&) = delete;

    bool isOpen() const noexcept { return static_cast<bool>(fd_); }
    bool isRegistered() const noexcept { return slot_ != noSlot; }

  protected:
    // Leaves the poller and closes the descriptor, if that has not happened.
    ~EpollHandle();

    // Registers for input, urgent, output and hang-up edges, for life: no further epoll_ctl. Does nothing when it is
    // registered.
    [[nodiscard]] ErrorCode tryAttach();
    // The same; throws SystemError.
    void attach();
    // Leaves the poller; no event of this batch or a later one reaches the handle. With `keepOpen` the descriptor lives
    // on and is taken out of the epoll set; otherwise it is about to be closed, which does the same for free.
    void detach(bool keepOpen) noexcept;
    // detach() and close the descriptor. Idempotent.
    void closeHandle() noexcept;
    // detach() and give the descriptor away. Empty when it is closed.
    Fd releaseHandle() noexcept;
    // Asks for one more dispatch, in one of the next polls, none of which blocks before it; in this one if the kernel
    // has reported something about it already. Does nothing when one is due already.
    void requeue() noexcept;
    // Forgets events that were collected for a former state of the socket.
    void dropPendingEvents() noexcept;
    void becomeKind(EpollHandleKind kind) noexcept { kind_ = kind; }

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
    std::uint32_t pending_ = 0;  // epoll bits collected into a batch and not dispatched
    EpollHandleKind kind_;
};

}  // namespace weft
