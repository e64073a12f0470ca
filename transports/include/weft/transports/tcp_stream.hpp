// TcpStream: a TCP connection that fibers use with plain blocking calls. A blocked call parks the fiber, not the
// carrier.
#pragma once

#include <concepts>
#include <cstddef>
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

namespace detail {

// A span, a vector or an std::array of char. Not what is also text: there a zero byte may be the end, not a byte.
template <class Bytes>
concept RangeOfBytes =
    std::convertible_to<const Bytes&, std::span<const char>> && !std::convertible_to<const Bytes&, std::string_view>;

inline std::string_view viewOf(std::span<const char> bytes) noexcept {
    return {bytes.data(), bytes.size()};
}

}  // namespace detail

// readExactly() reports this when the peer ends the stream too early.
inline ErrorCode endOfStream() noexcept {
    return fromErrno(ENODATA);
}

// Move-only; belongs to the carrier on which it was made. Context: fibers of that carrier, for every member, at most
// one reading and one writing at a time. Elsewhere a member throws std::logic_error, whose text says what to do
// instead. The destructor closes the stream; destroy it on the carrier, after every fiber has returned from its call.
// Blocks the fiber only. Throws BlockingOperationException when a call would block where nothing may (inside event-loop
// dispatch). All other failures are ErrorCodes: the overload with `error` last sets it (and clears it on success), the
// other one throws SystemError. They are: ETIMEDOUT at the deadline; operation_aborted when the stream is or was
// closed, the carrier shuts down, or a cancellation or the deadline of a scope ends the wait (a read or write that need
// not wait succeeds nevertheless, and bytes that arrive during a cancelled wait stay for the next read); EALREADY when
// another fiber is in the same kind of call; otherwise the kernel's error. After a reset, every write and (once the
// bytes received before it are read) every read fails with the same error. A TlsStream is one, too.
class TcpStream {
  public:
    // Connects on the running fiber's carrier and sets TCP_NODELAY. A connection of the socket to itself counts as
    // refused (ECONNREFUSED). Error texts contain the remote address. Throws std::logic_error on a plain thread or when
    // the carrier's poller has no sockets.
    static TcpStream connect(const SocketAddress& remote, Deadline deadline = never);
    static TcpStream connect(const SocketAddress& remote, ErrorCode& error) { return connect(remote, never, error); }
    static TcpStream connect(const SocketAddress& remote, Deadline deadline, ErrorCode& error);

    TcpStream() noexcept;  // closed
    TcpStream(Carrier& carrier, std::unique_ptr<FiberStream> stream) noexcept;
    TcpStream(TcpStream&&) noexcept;
    TcpStream& operator=(TcpStream&&) noexcept;
    ~TcpStream();

    // Returns once it has read at least one byte. 0: the peer has ended its side (or `into` is empty).
    std::size_t read(std::span<char> into);
    std::size_t read(std::span<char> into, ErrorCode& error);
    // Reads into a buffer of at most `most` bytes (0: nothing is read) from the carrier's pool. The buffer is allocated
    // once there are bytes to read, so a waiting fiber holds none. Empty: the peer has ended its side. No memory:
    // ENOMEM.
    Buffer read(std::size_t most);
    Buffer read(std::size_t most, ErrorCode& error);
    // Fills `into`; endOfStream() when the peer ends first. The overload with `error` returns how many bytes it read.
    void readExactly(std::span<char> into);
    std::size_t readExactly(std::span<char> into, ErrorCode& error);

    // Writes all bytes; of a literal or a C string, those before its zero byte. The overload with `error` returns how
    // many bytes the kernel accepted before the error.
    void write(std::string_view bytes);
    std::size_t write(std::string_view bytes, ErrorCode& error);
    template <detail::RangeOfBytes Bytes>
    void write(const Bytes& bytes) {
        write(detail::viewOf(bytes));
    }
    template <detail::RangeOfBytes Bytes>
    std::size_t write(const Bytes& bytes, ErrorCode& error) {
        return write(detail::viewOf(bytes), error);
    }
    // An array that may be a buffer or a C string: pass a std::span or a std::string_view.
    template <std::size_t Size>
    void write(char (&)[Size]) = delete;
    template <std::size_t Size>
    std::size_t write(char (&)[Size], ErrorCode&) = delete;
    // Writes all parts in order, in as few system calls as the kernel allows.
    void write(std::initializer_list<std::string_view> parts) { writeParts({parts.begin(), parts.size()}); }
    std::size_t write(std::initializer_list<std::string_view> parts, ErrorCode& error) {
        return writeParts({parts.begin(), parts.size()}, error);
    }
    void writeParts(std::span<const std::string_view> parts);
    std::size_t writeParts(std::span<const std::string_view> parts, ErrorCode& error);

    // At most one system call each; they never wait or let another fiber run. EAGAIN where read() or write() would
    // wait. They return how many bytes the kernel delivered or accepted. From tryRead(), 0 without an error means that
    // the peer has ended its side (or `into` is empty). tryWrite() accepts up to 64 non-empty parts.
    std::size_t tryRead(std::span<char> into, ErrorCode& error);
    std::size_t tryWrite(std::initializer_list<std::string_view> parts, ErrorCode& error);

    // Later calls that have to wait fail with ETIMEDOUT at `deadline`; `never` removes it. A call that need not wait
    // succeeds even after the deadline. A call that is already waiting keeps the deadline that it started with.
    void setDeadline(Deadline deadline) noexcept { deadline_ = deadline; }
    Deadline deadline() const noexcept { return deadline_; }

    // Tells the peer that no more bytes will follow; reading stays possible. Never waits, except over TLS.
    void shutdownOutput();
    void shutdownOutput(ErrorCode& error);
    // Closes the stream; a fiber waiting in one of its calls gets operation_aborted. Idempotent.
    void close() noexcept;
    bool isOpen() const noexcept;

    ErrorCode setOption(SocketOption option, int value);
    ErrorCode getOption(SocketOption option, int& value) const;
    SocketAddress localAddress() const;   // empty when closed
    SocketAddress remoteAddress() const;  // empty when closed

    // The carrier to which it belongs; null when default-constructed or moved from.
    Carrier* carrier() const noexcept { return stream_ ? carrier_ : nullptr; }
    // Gives the transport's stream away, for one that decorates it; this one is closed from then on. Null when
    // carrier() is.
    std::unique_ptr<FiberStream> release() noexcept;

    // Whether the stream has received bytes of the peer that were not read: never, unless it decodes, as TLS does.
    bool holdsInput() const noexcept;
    // What is known of the last error besides its code, as by TLS; may be empty. Valid until the next call.
    std::string_view errorText() const noexcept;

  protected:
    FiberStream* fiberStream() const noexcept { return stream_.get(); }
    // Null, with an error, when closed. Checks the context.
    FiberStream* usable(const char* call, ErrorCode& error) const;
    void throwIf(const ErrorCode& error, const char* call) const;

  private:
    Carrier* carrier_ = nullptr;
    std::unique_ptr<FiberStream> stream_;  // null: default-constructed, closed
    Deadline deadline_ = never;
};

}  // namespace weft
