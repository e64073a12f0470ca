// TcpStream: a TCP connection that fibers use with plain blocking calls; the fiber parks, its carrier goes on.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/pipeline/socket_option.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft {

class Carrier;
class FiberStream;

// The peer ended the stream before readExactly() had its bytes.
inline ErrorCode endOfStream() noexcept {
    return fromErrno(ENODATA);
}

// Move-only; belongs to the carrier on which it was made. Context: fibers of that carrier, for every member (throws
// std::logic_error elsewhere, saying what to do), at most one reading and one writing at a time. The destructor closes;
// destroy it after every fiber has returned from its call, on the carrier.
// Blocks the fiber only. Throws BlockingOperationException where a call would block and nothing may (inside event-loop
// dispatch). Every other refusal is an ErrorCode: the twin with `error` last sets it (and clears it on success), the
// other throws SystemError. They are: ETIMEDOUT at the deadline; operation_aborted when the stream is or was closed,
// the fiber is cancelled or the carrier shuts down; EALREADY when another fiber is in the same kind of call; else what
// the kernel says. A reset is the same error for every later read, once the bytes before it are read, and every write.
class TcpStream {
  public:
    // Connects from the running fiber's carrier; TCP_NODELAY is set. A connection of the socket to itself counts as
    // refused (ECONNREFUSED). Error texts carry the remote address. Throws
    // std::logic_error on a plain thread, or when the carrier's poller has no sockets.
    static TcpStream connect(const SocketAddress& remote, Deadline deadline = never);
    static TcpStream connect(const SocketAddress& remote, ErrorCode& error);
    static TcpStream connect(const SocketAddress& remote, Deadline deadline, ErrorCode& error);

    TcpStream() noexcept;  // closed
    TcpStream(Carrier& carrier, std::unique_ptr<FiberStream> stream) noexcept;
    TcpStream(TcpStream&&) noexcept;
    TcpStream& operator=(TcpStream&&) noexcept;
    ~TcpStream();

    // The next bytes, as soon as there are any; 0: the peer has ended its side (or `into` is empty).
    std::size_t read(std::span<char> into);
    std::size_t read(std::span<char> into, ErrorCode& error);
    // The same in a buffer of at most `most` bytes (0: nothing is read), which is taken from the carrier's pool when
    // there is something to read: a fiber that waits holds none. Empty: the peer has ended its side. No memory: ENOMEM.
    Buffer read(std::size_t most);
    Buffer read(std::size_t most, ErrorCode& error);
    // Fills `into`; endOfStream() when the peer ends first. The twin returns how many bytes there were.
    void readExactly(std::span<char> into);
    std::size_t readExactly(std::span<char> into, ErrorCode& error);

    // Writes all of it. The twin returns how many bytes the kernel took before the error.
    void write(std::span<const char> bytes);
    std::size_t write(std::span<const char> bytes, ErrorCode& error);
    // Writes all parts, in order, with as few system calls as the kernel allows.
    void write(std::initializer_list<std::string_view> parts);
    std::size_t write(std::initializer_list<std::string_view> parts, ErrorCode& error);
    void writeParts(std::span<const std::string_view> parts);
    std::size_t writeParts(std::span<const std::string_view> parts, ErrorCode& error);

    // One system call each at most, which neither waits nor lets another fiber run: EAGAIN where read() or write() would wait.
    // They return how many bytes were read or taken; 0 without an error, from tryRead(): the peer has ended its side
    // (or `into` is empty). tryWrite() takes up to 64 parts that are not empty.
    std::size_t tryRead(std::span<char> into, ErrorCode& error);
    std::size_t tryWrite(std::initializer_list<std::string_view> parts, ErrorCode& error);

    // Ends every later wait of a read or a write of this stream at `deadline` with ETIMEDOUT; `never` lifts it. A call
    // that need not wait succeeds even after it. Calls that wait already keep the deadline they began with.
    void setDeadline(Deadline deadline) noexcept { deadline_ = deadline; }
    Deadline deadline() const noexcept { return deadline_; }

    // Tells the peer that nothing more will come; reading goes on.
    void shutdownOutput();
    void shutdownOutput(ErrorCode& error);
    // Closes; a fiber that waits in a call of this stream gets operation_aborted. Idempotent.
    void close() noexcept;
    bool isOpen() const noexcept;

    ErrorCode setOption(SocketOption option, int value);
    ErrorCode getOption(SocketOption option, int& value) const;
    SocketAddress localAddress() const;   // empty when closed
    SocketAddress remoteAddress() const;  // empty when closed

  private:
    FiberStream* usable(const char* call, ErrorCode& error) const;

    Carrier* carrier_ = nullptr;
    std::unique_ptr<FiberStream> stream_;  // null: closed from the start
    Deadline deadline_ = never;
};

}  // namespace weft
