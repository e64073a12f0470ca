// FiberStream and FiberListener: what TcpStream and TcpListener stand on. A transport implements them; applications use
// the Tcp classes.
#pragma once

#include <cstddef>
#include <span>

#include <sys/uio.h>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/pipeline/socket_option.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/transports/fd.hpp>

namespace weft {

// One TCP connection for fibers. Context: fibers of the transport's carrier; at most one reading and one writing
// (or connecting) at a time: a second one gets EALREADY. Blocks the fiber, never the carrier; throws only
// BlockingOperationException, where it would block and nothing may. Errors: ETIMEDOUT at the deadline, ECANCELED
// (operation_aborted) when the stream is or was closed, the fiber is cancelled or the carrier shuts down, else what the
// kernel says.
class FiberStream {
  public:
    virtual ~FiberStream() = default;

    // On a fresh socket, once. After an error or a deadline only close() is of use.
    virtual ErrorCode connect(const SocketAddress& remote, Deadline deadline) = 0;
    // At least one byte, at most into.size() (>= 1); 0 without an error is the end of the stream.
    virtual std::size_t readSome(std::span<char> into, Deadline deadline, ErrorCode& error) = 0;
    // The same in a buffer of the carrier's pool, at most `most` bytes (>= 1). It is taken when there is something to
    // read: a fiber that waits holds none. Empty without an error: the end of the stream. No memory: ENOMEM.
    virtual Buffer readSome(std::size_t most, Deadline deadline, ErrorCode& error) = 0;
    // At least one byte of `parts` (1 to 1024), in order; 0 only with an error.
    virtual std::size_t writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) = 0;
    // One system call each at most, which neither waits nor yields: EAGAIN where readSome() or writeSome() would wait.
    virtual std::size_t tryReadSome(std::span<char> into, ErrorCode& error) noexcept = 0;
    virtual std::size_t tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept = 0;
    virtual ErrorCode shutdownOutput() = 0;
    // Ends the waits of parked fibers with operation_aborted. Idempotent. Context: the carrier.
    virtual void close() noexcept = 0;
    virtual bool isOpen() const noexcept = 0;

    virtual ErrorCode setOption(SocketOption option, int value) = 0;
    virtual ErrorCode getOption(SocketOption option, int& value) const = 0;
    virtual SocketAddress localAddress() const = 0;
    virtual SocketAddress remoteAddress() const = 0;
};

// One listening socket for fibers; context and errors as FiberStream. Any number of fibers may accept at once: each
// connection goes to the one that waits longest.
class FiberListener {
  public:
    virtual ~FiberListener() = default;

    virtual ErrorCode listen(const SocketAddress& local, int backlog) = 0;
    // Connections that failed before they were accepted are skipped. EMFILE, ENFILE, ENOBUFS and ENOMEM are returned:
    // the connection stays in the backlog, and the caller decides when to try again.
    virtual Fd accept(Deadline deadline, ErrorCode& error) = 0;
    virtual void close() noexcept = 0;
    virtual bool isOpen() const noexcept = 0;

    virtual ErrorCode setOption(SocketOption option, int value) = 0;
    virtual SocketAddress localAddress() const = 0;
};

}  // namespace weft
