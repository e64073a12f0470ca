// FdWatch: fibers wait until a descriptor of any kind is ready: a pidfd, a signalfd, an eventfd, a pipe, the socket of
// a library that does its own reads and writes. What is read or written, and with which call, is the caller's.
#pragma once

#include <memory>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/transports/fd.hpp>

namespace weft {

// Belongs to the carrier whose SocketIoHandler made it. Context: fibers of that carrier, for every member; waits throw
// std::logic_error elsewhere. Any number of fibers may wait at once, in either direction: all of them are told, and
// who reads first may leave nothing for the others, so read with a call that does not block. Destroy it after every
// fiber has returned from its wait.
//
// The waits block the fiber only, and return at once when the descriptor is ready, also after the deadline, in a
// cancelled fiber, and where nothing may block; otherwise they throw BlockingOperationException there. Ready means that
// the operation would not block: also at the end of the stream, when the other side has gone, or with an error for the
// next call to report. They return: ETIMEDOUT at the deadline; operation_aborted when the watch is or was closed or
// released, the fiber is cancelled, or the loop or its carrier shuts down; what the kernel says when it refuses the
// descriptor, which the first wait learns: EPERM for one that is always ready (a regular file, a directory), EEXIST for
// one that this carrier watches already, EBADF for one that is not open.
//
// The descriptor need not be non-blocking. One that somebody else owns and closes must not be watched itself, because
// the kernel would go on without a word; watch a duplicate of it (fcntl F_DUPFD_CLOEXEC), which may outlive it.
class FdWatch {
  public:
    virtual ~FdWatch() = default;  // closes

    // Of the running fiber's carrier. Throws std::logic_error on a plain thread, or when the carrier's poller has no
    // sockets; SystemError(operation_aborted) when the carrier shuts down; bad_alloc. Closes `fd` when it throws.
    static std::unique_ptr<FdWatch> of(Fd fd);

    ErrorCode waitReadable(Deadline deadline = never) { return wait(Direction::input, deadline); }
    ErrorCode waitWritable(Deadline deadline = never) { return wait(Direction::output, deadline); }

    // Closes the descriptor; the fibers that wait get operation_aborted. Idempotent.
    virtual void close() noexcept = 0;
    // As close(), but hands the descriptor back. Empty when it is closed.
    [[nodiscard]] virtual Fd release() noexcept = 0;
    virtual bool isOpen() const noexcept = 0;
    virtual int fd() const noexcept = 0;  // to read and write; -1 when closed

  protected:
    enum class Direction : unsigned char { input, output };
    virtual ErrorCode wait(Direction direction, Deadline deadline) = 0;
};

}  // namespace weft
