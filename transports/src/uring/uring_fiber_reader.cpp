// A read takes kept bytes or waits for the receive. Where nothing may wait, or while the descriptor is not registered,
// it calls recv() directly. But while a receive is in flight, the kernel may have taken bytes that are not here yet; a
// read then checks only the completions of the receive.
#include "uring/uring_fiber_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <liburing.h>
#include <poll.h>

#include <weft/scheduler/detail/cancellation_due.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_socket.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

#include "uring/uring_buffers.hpp"

namespace weft {

namespace {

constexpr std::size_t mostKept = 32;  // pieces kept before a receive into small buffers is cancelled: 64 KiB

}  // namespace

const UringOperation::Kind UringFiberReader::inputKind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        const UringFiberReader& self = static_cast<Operation&>(operation).reader;
        self.buffers().prepareReceive(entry, self.fd());
    },
    [](UringOperation& operation, int result, unsigned flags) {
        UringFiberReader& self = static_cast<Operation&>(operation).reader;
        self.onReceived(result, flags);
        self.waiter_.wake();
        if (!self.input_.inFlight()) self.operationEnded();
    }};

const UringOperation::Kind UringFiberReader::hangUpKind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        io_uring_prep_poll_multishot(&entry, static_cast<Operation&>(operation).reader.fd(), POLLHUP | POLLERR);
    },
    [](UringOperation& operation, int events, unsigned) {
        UringFiberReader& self = static_cast<Operation&>(operation).reader;
        self.onHangUp(events);
        if (!self.hangUp_.inFlight()) self.operationEnded();
    }};

// ---- reads ----

std::size_t UringFiberReader::read(std::span<char> into, Deadline deadline, ErrorCode& error) {
    std::size_t count = 0;
    error = awaitInput(into.size(), deadline, [&] { return receiveDirectly(into, count); });
    return count > 0 || error ? count : copyInto(into);
}

Buffer UringFiberReader::read(std::size_t most, Deadline deadline, ErrorCode& error) {
    Buffer bytes;
    error = awaitInput(most, deadline, [&] { return receiveDirectly(most, bytes); });
    if (error || bytes || arrived_.empty()) return bytes;
    Buffer& first = arrived_.front();
    return first.readableBytes() <= most ? arrived_.pop() : first.split(most);
}

// Returns when bytes are kept, `direct` has received some, or there is an end or an error to report. Bytes that arrive
// while a wait is cancelled are kept for the next read.
template <class Direct>
ErrorCode UringFiberReader::awaitInput(std::size_t most, Deadline deadline, Direct direct) {
    thisFiber::yieldIfDue();  // otherwise a busy peer could keep this fiber running without end
    const detail::IoWaiter::Claim claim(waiter_);
    if (!claim) return detail::IoWaiter::alreadyInUse();
    for (;;) {
        if (hasInput() || !mayReceive() || detail::cancellationDue() || waiter_.interrupted()) {
            if (const auto now = readNow(direct)) return *now;
        }
        ErrorCode error = startReceive(most);
        if (!error) error = waiter_.wait("TcpStream::read", deadline);
        if (!error) continue;
        if (error == operationAborted() && !waiter_.interrupted()) return error;
        const auto now = readNow(direct);  // bytes may have arrived by now
        return now ? *now : error;
    }
}

// As awaitInput() without the wait; nothing when there is nothing to read.
template <class Direct>
std::optional<ErrorCode> UringFiberReader::readNow(Direct direct) {
    const bool inSocket = !hasInput() && receiveIsOver();
    if (!arrived_.empty()) return ErrorCode();
    if (std::exchange(ended_, false)) return inputEnded(endedWith_);
    if (!isOpen()) return operationAborted();
    if (lost_ == ENOMEM) return loss();  // a piece was lost: later bytes are not the next ones
    const ssize_t result = inSocket ? direct() : -EAGAIN;
    if (detail::wouldBlock(result)) return std::nullopt;
    return result > 0 ? ErrorCode() : inputEnded(result);
}

ErrorCode UringFiberReader::startReceive(std::size_t most) noexcept {
    mayGetLarge_ = most > UringIoHandler::smallBytes;
    if (input_.inFlight()) return {};
    if (ErrorCode error = tryAttach()) return error;
    large_ = wantsLarge_;
    if (!buffers().prepare()) return fromErrno(ENOMEM);
    start(input_);
    if (!hangUp_.inFlight() && !hungUp_) start(hangUp_);
    return {};
}

std::size_t UringFiberReader::copyInto(std::span<char> into) noexcept {
    std::size_t filled = 0;
    while (filled < into.size() && !arrived_.empty()) {
        Buffer& first = arrived_.front();
        const std::size_t count = std::min(into.size() - filled, first.readableBytes());
        std::memcpy(into.data() + filled, first.readData(), count);
        filled += count;
        first.consumed(count);
        if (first.empty()) arrived_.drop();
    }
    return filled;
}

ssize_t UringFiberReader::receiveDirectly(std::span<char> into, std::size_t& count) noexcept {
    const ssize_t result = calls().recv(fd(), into.data(), into.size());
    count = result > 0 ? static_cast<std::size_t>(result) : 0;
    return result;
}

ssize_t UringFiberReader::receiveDirectly(std::size_t most, Buffer& into) noexcept {
    into = Buffer::tryAllocate(most);
    if (!into) return -ENOMEM;
    std::size_t count = 0;
    const ssize_t result = receiveDirectly(std::span(into.writeData(), most), count);
    count > 0 ? into.produced(count) : void(into = Buffer());
    return result;
}

std::size_t UringFiberReader::tryRead(std::span<char> into, ErrorCode& error) noexcept {
    error = isOpen() ? ErrorCode() : operationAborted();
    const detail::IoWaiter::Claim claim(waiter_);
    if (!claim) error = detail::IoWaiter::alreadyInUse();
    if (error) return 0;
    std::size_t count = 0;
    error = readNow([&] { return receiveDirectly(into, count); }).value_or(fromErrno(EAGAIN));
    return count > 0 || error ? count : copyInto(into);
}

// ---- the receive ----

// Takes completions of the receive that the handler has not dispatched yet. Returns true when the receive is over, so
// that any further bytes are in the socket. Makes a system call only if there may be completions.
bool UringFiberReader::receiveIsOver() noexcept {
    if (!input_.inFlight()) return true;
    submitAndFetch();
    int result = 0;
    unsigned flags = IORING_CQE_F_MORE;
    while ((flags & IORING_CQE_F_MORE) && ring().takeCompletion(input_, result, flags)) onReceived(result, flags);
    return !(flags & IORING_CQE_F_MORE);
}

void UringFiberReader::onReceived(int result, unsigned flags) noexcept {
    if (result > 0) return onPiece(buffers().take(flags, static_cast<std::size_t>(result)), flags);
    if (result == -ENOBUFS) return handler().noteRanOut(buffers());  // the next read restarts the receive
    if (isToBeDoneAgain(result)) return;
    noteResult(result);
    endedWith_ = result;
    ended_ = true;
}

void UringFiberReader::onPiece(Buffer&& piece, unsigned flags) noexcept {
    if (!isOpen() || lost_ == ENOMEM) return;
    if (isUnwanted(piece, flags)) cancel(input_);
    try {
        arrived_.push(std::move(piece));
    } catch (const std::bad_alloc&) {
        lost_ = ENOMEM;
        cancel(input_);
    }
}

// True when the receive should end with this piece; another one starts after a fiber has read what is kept.
bool UringFiberReader::isUnwanted(const Buffer& piece, unsigned flags) noexcept {
    const bool isLast = !(flags & IORING_CQE_F_SOCK_NONEMPTY);
    const bool filled = piece.readableBytes() == buffers().bytes();
    if (input_.cancelling()) return true;
    wantsLarge_ = large_ ? piece.readableBytes() > UringIoHandler::smallBytes : mayGetLarge_ && filled && !isLast;
    return wantsLarge_ != large_ || arrived_.size() + 1 >= mostKept || (isLast && hungUp_);
}

// A multishot receive does not report every reset: Linux loses some that follow bytes closely (docs/adr/0009). A
// receive started on the emptied socket does report it. Completions already in the ring are handled first, because the
// reset may be among them.
void UringFiberReader::onHangUp(int events) noexcept {
    if (events < 0 || !isOpen()) return;
    if (events & (POLLHUP | POLLERR)) {
        hungUp_ = true;
        requeue();
    } else if (!hangUp_.inFlight()) {
        start(hangUp_);
    }
}

UringBuffers& UringFiberReader::buffers() const noexcept {
    return large_ ? handler().large() : handler().small();
}

// ---- the end of the input ----

// No error: the peer's orderly end. But a write may have consumed a reset, so that the receive found an end. The
// write's completion is then older, but may still be in the ring.
ErrorCode UringFiberReader::inputEnded(ssize_t result) noexcept {
    if (result < 0) return noteError(result);
    forEachReportedError([this](int error) { noteResult(error); });
    return loss();
}

void UringFiberReader::dispatch() {
    if (hungUp_) cancel(input_);
}

ErrorCode UringFiberReader::writeFailed(ssize_t result) noexcept {
    noteResult(reportedError(input_));
    return result == -EPIPE && lost_ != 0 ? fromErrno(lost_) : noteError(result);
}

ErrorCode UringFiberReader::noteError(ssize_t result) noexcept {
    noteResult(static_cast<int>(result));
    return fromErrno(static_cast<int>(-result));
}

// EPIPE does not concern the input. It results from a write after shutdownOutput(), and from a reset that follows the
// peer's end, when no input is missing.
void UringFiberReader::noteResult(int result) noexcept {
    if (result >= 0 || isToBeDoneAgain(result) || lost_ != 0) return;
    if (result != -EPIPE && detail::endsConnection(-result)) lost_ = -result;
}

void UringFiberReader::closeInput() noexcept {
    cancel(input_);
    cancel(hangUp_);
    arrived_.clear();
    ended_ = false;
    waiter_.close();
}

}  // namespace weft
