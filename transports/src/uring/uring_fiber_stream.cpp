// Where nothing may block, a call tries the system call first and waits only if it must; everywhere else it is an entry
// of the ring, which the carrier's next poll submits with all others.
#include "uring/uring_fiber_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <liburing.h>

#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_socket.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

#include "uring/uring_buffers.hpp"

namespace weft {

class UringFiberStream::Connect final : public Call {
  public:
    Connect(UringFiberStream& stream, const SocketAddress& remote) noexcept : Call(kind, stream), remote_(remote) {}

  private:
    static const Kind kind;
    const SocketAddress& remote_;
};

const UringOperation::Kind UringFiberStream::Connect::kind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        const Connect& self = static_cast<Connect&>(operation);
        io_uring_prep_connect(&entry, self.fd(), self.remote_.data(), self.remote_.size());
    },
    [](UringOperation& operation, int result, unsigned) { complete(operation, result); }};

// Into a buffer of the ring, which is taken when there is something to read: a fiber that waits holds none.
class UringFiberStream::Read final : public Call {
  public:
    Read(UringFiberStream& stream, UringBuffers& buffers, std::size_t most) noexcept
        : Call(kind, stream), stream_(stream), buffers_(buffers), most_(std::min(most, buffers.bytes())) {}

    Buffer take() noexcept { return std::move(bytes_); }
    bool filled() const noexcept { return result() == static_cast<int>(buffers_.bytes()); }

  private:
    static const Kind kind;
    // Not when the fiber runs: the kernel needs another buffer meanwhile, and who writes is to know of a reset.
    void completed(int result, unsigned flags) noexcept {
        if (result > 0) bytes_ = buffers_.take(flags, static_cast<std::size_t>(result));
        stream_.noteResult(result);
    }

    UringFiberStream& stream_;
    UringBuffers& buffers_;
    const std::size_t most_;
    Buffer bytes_;
};

const UringOperation::Kind UringFiberStream::Read::kind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        const Read& self = static_cast<Read&>(operation);
        io_uring_prep_recv(&entry, self.fd(), nullptr, self.most_, 0);
        entry.flags |= IOSQE_BUFFER_SELECT;
        entry.buf_group = self.buffers_.group();
    },
    [](UringOperation& operation, int result, unsigned flags) {
        static_cast<Read&>(operation).completed(result, flags);
        complete(operation, result);
    }};

class UringFiberStream::Write final : public Call {
  public:
    Write(UringFiberStream& stream, std::span<const iovec> parts) noexcept : Call(kind, stream), stream_(stream) {
        message_.msg_iov = const_cast<iovec*>(parts.data());
        message_.msg_iovlen = parts.size();
    }

  private:
    static const Kind kind;
    UringFiberStream& stream_;
    msghdr message_{};
};

const UringOperation::Kind UringFiberStream::Write::kind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        Write& self = static_cast<Write&>(operation);
        const msghdr& message = self.message_;
        if (message.msg_iovlen == 1) {
            io_uring_prep_send(&entry, self.fd(), message.msg_iov->iov_base, message.msg_iov->iov_len, MSG_NOSIGNAL);
        } else {
            io_uring_prep_sendmsg(&entry, self.fd(), &message, MSG_NOSIGNAL);
        }
    },
    // The fiber that reads may run before this one, and sees only an end: the kernel tells of a reset once.
    [](UringOperation& operation, int result, unsigned) {
        static_cast<Write&>(operation).stream_.noteResult(result);
        complete(operation, result);
    }};

UringFiberStream::~UringFiberStream() {
    close();
}

ErrorCode UringFiberStream::connect(const SocketAddress& remote, Deadline deadline) {
    if (!isOpen()) return operationAborted();
    const detail::IoWaiter::Claim claim(writer_);
    if (!claim) return detail::IoWaiter::alreadyInUse();
    Connect call(*this, remote);
    const ssize_t result = run(call, "TcpStream::connect", deadline);
    return result < 0 ? errorOf(result) : refuseItself(remote);
}

// As from any other port of this host: nothing listens there (docs/adr/0011-self-connect.md).
ErrorCode UringFiberStream::refuseItself(const SocketAddress& remote) noexcept {
    return detail::connectedToItself(calls(), fd(), remote) ? fromErrno(ECONNREFUSED) : ErrorCode();
}

// ---- reading ----

std::size_t UringFiberStream::readSome(std::span<char> into, Deadline deadline, ErrorCode& error) {
    Buffer bytes = readSome(into.size(), deadline, error);
    const std::size_t count = std::min(bytes.readableBytes(), into.size());
    if (count > 0) std::memcpy(into.data(), bytes.readData(), count);
    return count;
}

Buffer UringFiberStream::readSome(std::size_t most, Deadline deadline, ErrorCode& error) {
    thisFiber::yieldIfDue();  // a busy peer could keep this fiber running for ever
    error = {};
    const detail::IoWaiter::Claim claim(reader_);
    if (!claim) error = detail::IoWaiter::alreadyInUse();
    if (error) return {};
    Buffer bytes;
    const ssize_t result = receive(most, deadline, bytes);
    if (result <= 0) error = endedTheWait(result) ? errorOf(result) : inputEnded(result);
    return bytes;
}

ssize_t UringFiberStream::receive(std::size_t most, Deadline deadline, Buffer& into) {
    const auto direct = [&]() -> ssize_t {
        into = Buffer::tryAllocate(most);
        if (!into) return -ENOMEM;
        const ssize_t count = calls().recv(fd(), into.writeData(), most);
        count > 0 ? into.produced(static_cast<std::size_t>(count)) : void(into = Buffer());
        return count;
    };
    for (;;) {
        UringBuffers& buffers = large_ && most > UringIoHandler::smallBytes ? handler().large() : handler().small();
        if (!buffers.prepare()) return -ENOMEM;
        Read call(*this, buffers, most);
        const ssize_t result = transfer(direct, call, "TcpStream::read", deadline);
        if (result > 0 && into.empty()) {
            into = call.take();
            large_ = call.filled();
        }
        if (result != -ENOBUFS) return result;
        handler().noteRanOut(buffers);
    }
}

std::size_t UringFiberStream::tryReadSome(std::span<char> into, ErrorCode& error) noexcept {
    error = isOpen() ? ErrorCode() : operationAborted();
    const detail::IoWaiter::Claim claim(reader_);
    if (!claim) error = detail::IoWaiter::alreadyInUse();
    if (error) return 0;
    const ssize_t count = calls().recv(fd(), into.data(), into.size());
    if (count > 0) return static_cast<std::size_t>(count);
    error = detail::wouldBlock(count) ? fromErrno(EAGAIN) : inputEnded(count);
    return 0;
}

// The kernel reports a reset to the call that comes first, and takes it off the socket; later reads then look like an
// orderly end, and later writes like writes after the own end of output. So the stream keeps it for all of them.
ErrorCode UringFiberStream::inputEnded(ssize_t result) noexcept {
    if (result == 0) return fromErrno(lost_);
    noteLoss(static_cast<int>(-result));
    return fromErrno(static_cast<int>(-result));
}

// ---- writing ----

std::size_t UringFiberStream::writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) {
    thisFiber::yieldIfDue();
    error = {};
    const detail::IoWaiter::Claim claim(writer_);
    if (!claim) error = detail::IoWaiter::alreadyInUse();
    if (error) return 0;
    Write call(*this, parts);
    const auto direct = [&] { return calls().sendv(fd(), parts.data(), parts.size()); };
    const ssize_t result = transfer(direct, call, "TcpStream::write", deadline);
    if (result >= 0) return static_cast<std::size_t>(result);
    error = endedTheWait(result) ? errorOf(result) : outputFailed(result);
    return 0;
}

std::size_t UringFiberStream::tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept {
    error = isOpen() ? ErrorCode() : operationAborted();
    const detail::IoWaiter::Claim claim(writer_);
    if (!claim) error = detail::IoWaiter::alreadyInUse();
    if (error) return 0;
    const ssize_t count = calls().sendv(fd(), parts.data(), parts.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    error = detail::wouldBlock(count) ? fromErrno(EAGAIN) : outputFailed(count);
    return 0;
}

ErrorCode UringFiberStream::outputFailed(ssize_t result) noexcept {
    if (result == -EPIPE && lost_ != 0) return fromErrno(lost_);
    noteLoss(static_cast<int>(-result));
    return fromErrno(static_cast<int>(-result));
}

void UringFiberStream::noteResult(int result) noexcept {
    if (result < 0 && !isToBeDoneAgain(result)) noteLoss(-result);
}

// EPIPE says nothing about the input: it is the answer to a write after the own end of output, and Linux gives it for a
// reset that follows the peer's end, behind which nothing is missing.
void UringFiberStream::noteLoss(int error) noexcept {
    if (error != EPIPE && detail::concernsConnection(error) && lost_ == 0) lost_ = error;
}

// ---- the end ----

ErrorCode UringFiberStream::shutdownOutput() {
    if (!isOpen()) return operationAborted();
    const int result = calls().shutdown(fd(), SHUT_WR);
    return result < 0 ? fromErrno(-result) : ErrorCode();
}

ErrorCode UringFiberStream::setOption(SocketOption option, int value) {
    return isOpen() ? detail::setSocketOption(calls(), fd(), option, value) : operationAborted();
}

ErrorCode UringFiberStream::getOption(SocketOption option, int& value) const {
    return isOpen() ? detail::getSocketOption(calls(), fd(), option, value) : operationAborted();
}

SocketAddress UringFiberStream::localAddress() const {
    return detail::localAddressOf(calls(), fd());
}
SocketAddress UringFiberStream::remoteAddress() const {
    return detail::remoteAddressOf(calls(), fd());
}

}  // namespace weft
