// UringHandle: the base of every object on the io_uring handler: one descriptor, its operations in flight, and a link
// in the ready list. It knows neither channels nor fibers.
#pragma once

#include <weft/scheduler/errors.hpp>
#include <weft/transports/detail/ready_list.hpp>
#include <weft/transports/fd.hpp>

#include "uring/uring_operation.hpp"

namespace weft {

class UringIoHandler;
class UringRing;

// Context: the handler's carrier, except construction (any thread) and destruction of an unregistered handle (any
// thread).
class UringHandle : private detail::ReadyLink {
  public:
    UringHandle(UringIoHandler& handler, Fd fd) noexcept;
    UringHandle(const UringHandle&) = delete;
    UringHandle& operator=(const UringHandle&) = delete;

    bool isOpen() const noexcept { return static_cast<bool>(fd_); }
    bool isRegistered() const noexcept { return registration_.linked(); }

  protected:
    // Precondition: no operation is in flight. Leaves the handler and closes the descriptor, unless that has already
    // happened.
    virtual ~UringHandle();

    // Called for each requeue().
    virtual void dispatch() = 0;
    // Called when the handler shuts down: close as soon as possible.
    virtual void abort() noexcept = 0;
    // Called when the handler has ended and no operation is in flight, but the handle was not closed.
    virtual void cutOff() noexcept { closeHandle(); }

    // Joins the handler; operation_aborted once the handler is closing. Does nothing when it has already joined.
    [[nodiscard]] ErrorCode tryAttach();
    void attach();  // as tryAttach(), but throws SystemError
    // Leaves the handler. Precondition: no operation is in flight.
    void detach() noexcept;
    void closeHandle() noexcept;
    // Closes the descriptor only, although operations are in flight. Precondition: the kernel is done with them.
    void closeDescriptor() noexcept { fd_.close(); }
    // Requests one dispatch() in this poll or the next, which then does not block.
    void requeue() noexcept;

    void start(UringOperation& operation) noexcept;
    void cancel(UringOperation& operation) noexcept;
    // Call it before a system call on the descriptor whose effect the peer sees: the kernel first executes the
    // operations that were started before. One of them that finds the socket full goes on later.
    void submitStarted() noexcept {
        if (inFlight_ != 0) submitAndFetch();
    }
    // As the functions of UringRing; reportedError() returns 0 for an operation that is not in flight. Of ring(), use
    // takeResult(), takeCompletion() and, for an operation in flight, kernelIsDoneWith().
    void submitAndFetch() noexcept;
    int reportedError(const UringOperation& operation) const noexcept;
    UringRing& ring() noexcept;
    unsigned& inFlight() noexcept { return inFlight_; }

    UringIoHandler& handler() const noexcept { return *handler_; }
    SystemCalls& calls() const noexcept { return *calls_; }
    int fd() const noexcept { return fd_.get(); }

  private:
    friend class UringIoHandler;

    struct Registration : detail::ReadyLink {
        explicit Registration(UringHandle& owner) noexcept : handle(owner) {}
        UringHandle& handle;
    };

    UringIoHandler* handler_;  // not touched after detach(): the handle may outlive its handler
    SystemCalls* calls_;
    Fd fd_;
    unsigned inFlight_ = 0;
    Registration registration_{*this};
};

}  // namespace weft
