// FiberStream and FiberListener: the interfaces under TcpStream and TcpListener. A transport implements them;
// applications use the Tcp classes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <sys/uio.h>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/pipeline/socket_option.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/transports/fd.hpp>

namespace weft {

// One TCP connection for fibers. Context: fibers of the transport's carrier, at most one reading and one writing (or
// connecting) at a time; a second one gets EALREADY. Blocks the fiber, never the carrier. Throws only
// BlockingOperationException, when a call would block where nothing may. Errors: ETIMEDOUT at the deadline; ECANCELED
// (operation_aborted) when the stream is or was closed, the fiber is cancelled or the carrier shuts down; otherwise the
// kernel's.
class FiberStream {
  public:
    virtual ~FiberStream() = default;

    // On a fresh socket, once. After an error or a timeout, only close() is allowed.
    virtual ErrorCode connect(const SocketAddress& remote, Deadline deadline) = 0;
    // Reads between 1 and into.size() bytes; `into` must not be empty. 0 without an error means the end of the stream.
    virtual std::size_t readSome(std::span<char> into, Deadline deadline, ErrorCode& error) = 0;
    // Reads at most `most` bytes (>= 1) into a buffer from the carrier's pool. The buffer is allocated once there are
    // bytes to read, so a waiting fiber holds none. Empty without an error: the end of the stream. No memory: ENOMEM.
    virtual Buffer readSome(std::size_t most, Deadline deadline, ErrorCode& error) = 0;
    // Writes at least one byte of `parts` (1 to 1024 of them), in order. Returns 0 only with an error. A stream that
    // encodes may return bytes with an error: it has taken them, and sends them as long as it is open.
    virtual std::size_t writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) = 0;
    // At most one system call each; they never wait or yield. EAGAIN where readSome() or writeSome() would wait.
    virtual std::size_t tryReadSome(std::span<char> into, ErrorCode& error) noexcept = 0;
    virtual std::size_t tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept = 0;
    // Blocks only where bytes that the stream has taken must leave first, as with TLS.
    virtual ErrorCode shutdownOutput(Deadline deadline) = 0;
    // From now on a read that would have to wait fails with operation_aborted, and so does one that waits. What has
    // arrived, also later, is read, and so is the end of the stream. Never blocks. Context: the carrier.
    virtual void interruptReads() noexcept = 0;
    // Whether bytes have been received that the next read could take without the socket, or a part of a record.
    virtual bool holdsInput() const noexcept { return false; }
    // Parked fibers wake with operation_aborted. Idempotent. Context: the carrier.
    virtual void close() noexcept = 0;
    virtual bool isOpen() const noexcept = 0;

    virtual ErrorCode setOption(SocketOption option, int value) = 0;
    virtual ErrorCode getOption(SocketOption option, int& value) const = 0;
    virtual SocketAddress localAddress() const = 0;
    virtual SocketAddress remoteAddress() const = 0;
    // What is known of the last error besides its code; may be empty. Valid until the next call.
    virtual std::string_view errorText() const noexcept { return {}; }
};

// One listening socket for fibers. Context and errors as for FiberStream. Any number of fibers may accept at once; each
// connection goes to the fiber that has waited longest.
class FiberListener {
  public:
    virtual ~FiberListener() = default;

    virtual ErrorCode listen(const SocketAddress& local, int backlog) = 0;
    // Skips connections that failed before they were accepted. On EMFILE, ENFILE, ENOBUFS and ENOMEM the connection
    // stays in the backlog, and the caller decides when to retry.
    virtual Fd accept(Deadline deadline, ErrorCode& error) = 0;
    virtual void close() noexcept = 0;
    virtual bool isOpen() const noexcept = 0;

    virtual ErrorCode setOption(SocketOption option, int value) = 0;
    virtual SocketAddress localAddress() const = 0;
};

}  // namespace weft
