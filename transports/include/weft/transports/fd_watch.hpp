// FdWatch: lets fibers wait until a descriptor of any kind is ready: a pidfd, a signalfd, an eventfd, a pipe, or the
// socket of a library that does its own I/O. The caller does the reads and writes.
#pragma once

#include <memory>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/transports/fd.hpp>

namespace weft {

// Belongs to the carrier whose SocketIoHandler made it. Context: fibers of that carrier, for every member; waits throw
// std::logic_error elsewhere. Any number of fibers may wait at once, in either direction. Readiness wakes all of them,
// and the first to read may leave nothing for the others, so use calls that do not block. Destroy the watch after every
// fiber has returned from its wait.
//
// The waits block the fiber only. They return at once when the descriptor is ready, even after the deadline, in a
// cancelled fiber, or where nothing may block; when it is not ready there, they throw BlockingOperationException. Ready
// means that the operation would not block: this includes the end of the stream, a closed peer, and an error that the
// next call will report. Errors: ETIMEDOUT at the deadline; operation_aborted when the watch is or was closed or
// released, the fiber is cancelled, or the loop or its carrier shuts down. The first wait also reports when the kernel
// refuses the descriptor: EPERM for one that is always ready (a regular file, a directory), EEXIST for one that this
// carrier already watches, EBADF for one that is not open.
//
// The descriptor need not be non-blocking. Do not watch a descriptor that other code owns and may close: the kernel
// would silently go on watching. Watch a duplicate (fcntl F_DUPFD_CLOEXEC) instead; either may outlive the other.
class FdWatch {
  public:
    virtual ~FdWatch() = default;  // closes

    // Watches `fd` on the running fiber's carrier. Throws std::logic_error on a plain thread or when the carrier's
    // poller has no sockets, SystemError(operation_aborted) when the carrier shuts down, and bad_alloc. Closes `fd`
    // when it throws.
    static std::unique_ptr<FdWatch> of(Fd fd);

    ErrorCode waitReadable(Deadline deadline = never) { return wait(Direction::input, deadline); }
    ErrorCode waitWritable(Deadline deadline = never) { return wait(Direction::output, deadline); }

    // Closes the descriptor; waiting fibers get operation_aborted. Idempotent.
    virtual void close() noexcept = 0;
    // As close(), but returns the open descriptor. Empty when the watch is closed.
    [[nodiscard]] virtual Fd release() noexcept = 0;
    virtual bool isOpen() const noexcept = 0;
    virtual int fd() const noexcept = 0;  // for the caller's reads and writes; -1 when closed

  protected:
    enum class Direction : unsigned char { input, output };
    virtual ErrorCode wait(Direction direction, Deadline deadline) = 0;
};

}  // namespace weft
