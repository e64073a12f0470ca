// UringHandle: what every user of the io_uring handler is made on: one descriptor, its operations in flight, and a place
// in the ready list. It knows neither channels nor fibers.
#pragma once

#include <weft/scheduler/errors.hpp>
#include <weft/transports/detail/ready_list.hpp>
#include <weft/transports/fd.hpp>

#include "uring/uring_operation.hpp"

namespace weft {

class UringIoHandler;

// Context: the handler's carrier, except construction (any thread) and destruction of one that is not registered.
class UringHandle : private detail::ReadyLink {
  public:
    UringHandle(UringIoHandler& handler, Fd fd) noexcept;
    UringHandle(const UringHandle&) = delete;
    UringHandle& operator=(const UringHandle&) = delete;

    bool isOpen() const noexcept { return static_cast<bool>(fd_); }
    bool isRegistered() const noexcept { return registration_.linked(); }

  protected:
    // Nothing may be in flight. Leaves the handler and closes the descriptor, if that has not happened.
    virtual ~UringHandle();

    // What requeue() has asked for.
    virtual void dispatch() = 0;
    // The handler ends: close as soon as may be.
    virtual void abort() noexcept = 0;
    // The handler has ended, and nothing is in flight any more, although the handle was not closed.
    virtual void cutOff() noexcept { closeHandle(); }

    // Joins the handler; operation_aborted once it is closing. Does nothing when it has joined.
    [[nodiscard]] ErrorCode tryAttach();
    void attach();  // the same; throws SystemError
    // Leaves the handler. Nothing may be in flight.
    void detach() noexcept;
    void closeHandle() noexcept;
    // Asks for one dispatch() in this poll or the next, which then does not block.
    void requeue() noexcept;

    void start(UringOperation& operation) noexcept;
    void cancel(UringOperation& operation) noexcept;
    // As those of UringRing.
    void look() noexcept;
    bool takeResult(const UringOperation& operation, int& result) noexcept;
    bool takeCompletion(UringOperation& operation, int& result, unsigned& flags) noexcept;
    int reportedError(const UringOperation& operation) const noexcept;
    unsigned& inFlight() noexcept { return inFlight_; }

    UringIoHandler& handler() const noexcept { return *handler_; }
    SystemCalls& calls() const noexcept { return *calls_; }
    int fd() const noexcept { return fd_.get(); }

  private:
    friend class UringIoHandler;

    struct Registration : detail::ReadyLink {
        explicit Registration(UringHandle& its) noexcept : handle(its) {}
        UringHandle& handle;
    };

    UringIoHandler* handler_;  // not touched after detach(): the handle may outlive its handler
    SystemCalls* calls_;
    Fd fd_;
    unsigned inFlight_ = 0;
    Registration registration_{*this};
};

}  // namespace weft
