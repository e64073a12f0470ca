// UringFiberHandle: a descriptor for fibers. Each call except a read is one operation in the frame of its fiber, which
// does not return before the kernel has completed the operation.
#pragma once

#include <cerrno>

#include <sys/types.h>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/cancellation_due.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "uring/uring_handle.hpp"

namespace weft {

// Context: fibers of the handler's carrier.
class UringFiberHandle : public UringHandle {
  public:
    bool isOpen() const noexcept { return !closed_ && UringHandle::isOpen(); }

  protected:
    class Call;

    UringFiberHandle(UringIoHandler& handler, Fd fd) noexcept : UringHandle(handler, std::move(fd)) {}

    void dispatch() override {}
    void abort() noexcept override { closeCalls(); }

    // Returns the result of the call: a count, or an error as a negative number. See endedTheWait(). Starts nothing
    // once the wait would be refused because of a cancellation: the kernel could complete the operation nevertheless.
    ssize_t run(Call& call, const char* name, Deadline deadline);
    // As run(), but first makes the system call `direct` where nothing may block, in a cancelled fiber, and on an
    // unregistered descriptor. A descriptor is registered only once a fiber has to wait; until then the handler need
    // not close it at shutdown. After a handler has begun to close it takes no operations, but bytes that have already
    // arrived can still be read.
    template <class Direct>
    ssize_t transfer(Direct direct, Call& call, const char* name, Deadline deadline) {
        if (!isOpen()) return -ECANCELED;
        if (!isRegistered() || !Suspension::allowed() || detail::cancellationDue()) {
            const ssize_t result = direct();
            if (!detail::wouldBlock(result)) return result;
        }
        return run(call, name, deadline);
    }
    // Cancels the calls; the descriptor closes when no operation is in flight.
    void closeCalls() noexcept;
    // Calls note(error) for calls in flight whose errors the kernel has reported but the handler has not dispatched.
    template <class Note>
    void forEachReportedError(Note note) noexcept;
    // Called after each operation has ended.
    void finishClose() noexcept {
        if (closed_ && inFlight() == 0) closeHandle();
    }

    // True when the deadline, a cancellation or a close ended the call, not the connection.
    static bool endedTheWait(ssize_t result) noexcept { return result == -waitTimedOut || result == -ECANCELED; }
    static ErrorCode errorOf(ssize_t result) noexcept {
        return result == -waitTimedOut ? timedOut() : fromErrno(static_cast<int>(-result));
    }

  private:
    static constexpr int waitTimedOut = ETIME;  // the kernel uses ETIMEDOUT for a connection that timed out

    WakeReason startAndAwait(Call& call, const char* name, Deadline deadline);

    detail::ReadyList calls_;  // calls in flight
    bool closed_ = false;
};

class UringFiberHandle::Call : public UringOperation {
  public:
    Call(const Kind& kind, UringFiberHandle& handle) noexcept
        : UringOperation(kind, handle.inFlight()), handle_(handle) {}

    int fd() const noexcept { return handle_.fd(); }
    int result() const noexcept { return result_; }

  protected:
    static void complete(UringOperation& operation, int result);

  private:
    friend class UringFiberHandle;
    struct Place : detail::ReadyLink {
        explicit Place(Call& owner) noexcept : call(owner) {}
        Call& call;
    };

    WakeReason await(Suspension& wait, const char* name, Deadline deadline);

    UringFiberHandle& handle_;
    WakeKey waiter_;
    Place place_{*this};
    int result_ = 0;
};

template <class Note>
void UringFiberHandle::forEachReportedError(Note note) noexcept {
    calls_.forEach([&](detail::ReadyLink& link) { note(reportedError(static_cast<Call::Place&>(link).call)); });
}

}  // namespace weft
