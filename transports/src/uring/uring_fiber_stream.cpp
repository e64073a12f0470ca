// Where nothing may block, a call makes the system call directly. Everywhere else it queues an entry in the ring, which
// the carrier's next poll submits with all others; a direct call that must not overtake it submits it first.
#include "uring/uring_fiber_stream.hpp"

#include <algorithm>

#include <liburing.h>

#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_socket.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

#include "cycle_limits.hpp"

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
            const std::size_t size = std::min(message.msg_iov->iov_len, detail::bytesPerEntry);
            io_uring_prep_send(&entry, self.fd(), message.msg_iov->iov_base, size, MSG_NOSIGNAL);
        } else {
            io_uring_prep_sendmsg(&entry, self.fd(), &message, MSG_NOSIGNAL);
        }
    },
    // Noted at once, because a reading fiber may run before the writing one and would see only an end: the kernel
    // reports a reset once.
    [](UringOperation& operation, int result, unsigned) {
        static_cast<Write&>(operation).stream_.noteResult(result);
        complete(operation, result);
    }};

ErrorCode UringFiberStream::connect(const SocketAddress& remote, Deadline deadline) {
    if (!isOpen()) return operationAborted();
    const detail::IoWaiter::Claim claim(writer_);
    if (!claim) return detail::IoWaiter::alreadyInUse();
    Connect call(*this, remote);
    const ssize_t result = run(call, "TcpStream::connect", deadline);
    return result < 0 ? errorOf(result) : refuseItself(remote);
}

// ---- writing ----

std::size_t UringFiberStream::writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) {
    thisFiber::yieldIfDue();
    error = {};
    const detail::IoWaiter::Claim claim(writer_);
    if (!claim) error = detail::IoWaiter::alreadyInUse();
    if (error) return 0;
    Write call(*this, parts);
    const ssize_t result = transfer([&] { return send(parts); }, call, "TcpStream::write", deadline);
    if (result >= 0) return static_cast<std::size_t>(result);
    error = endedTheWait(result) ? errorOf(result) : writeFailed(result);
    return 0;
}

std::size_t UringFiberStream::tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept {
    const auto failed = [this](ssize_t result) { return writeFailed(result); };
    return attempt(
        writer_, [&] { return send(parts); }, failed, error);
}

// ---- closing ----

void UringFiberStream::close() noexcept {
    closeInput();
    closeCalls();
}

void UringFiberStream::operationEnded() noexcept {
    finishClose();
    if (released_ && inFlight() == 0) destroy();
}

void UringFiberStream::operator delete(UringFiberStream* stream, std::destroying_delete_t) noexcept {
    stream->close();
    if (stream->inFlight() == 0) return stream->destroy();
    stream->released_ = true;
}

void UringFiberStream::cutOff() noexcept {
    UringFiberReader::cutOff();
    if (released_) destroy();
}

void UringFiberStream::destroy() noexcept {
    this->~UringFiberStream();
    ::operator delete(this);
}

}  // namespace weft
