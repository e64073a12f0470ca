// Blocking-style reads and writes on epoll: make the system call, park on EAGAIN, repeat. Both run on the carrier whose
// poller reports the edges, so that no edge comes between them. After a short read, which empties the socket, a read
// parks without the system call.
#include "epoll/epoll_fiber_stream.hpp"

#include <cerrno>

#include <weft/scheduler/detail/cancellation_due.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_socket.hpp>

namespace weft {

ErrorCode EpollFiberStream::connect(const SocketAddress& remote, Deadline deadline) {
    if (!isOpen()) return operationAborted();
    const detail::IoWaiter::Claim claim(writer_);
    if (!claim) return detail::IoWaiter::alreadyInUse();
    const int result = calls().connect(fd(), remote.data(), remote.size());
    const ErrorCode error = result == -EINPROGRESS ? awaitConnected(deadline) : fromErrno(result < 0 ? -result : 0);
    return error ? error : refuseItself(remote);
}

ErrorCode EpollFiberStream::awaitConnected(Deadline deadline) {
    for (;;) {
        if (ErrorCode error = waitFor(writer_, "TcpStream::connect", deadline)) return error;
        if (ErrorCode error = detail::takeSocketError(calls(), fd())) return error;
        // Neither an error nor a peer: the event belonged to the socket's earlier, unconnected state.
        if (!remoteAddress().empty()) return {};
    }
}

std::size_t EpollFiberStream::readSome(std::span<char> into, Deadline deadline, ErrorCode& error) {
    ssize_t count = 0;
    readWith([&] { return count = receive(into); }, deadline, error);
    return error ? 0 : static_cast<std::size_t>(count);
}

Buffer EpollFiberStream::readSome(std::size_t most, Deadline deadline, ErrorCode& error) {
    Buffer bytes;
    readWith([&] { return receive(most, bytes); }, deadline, error);
    return bytes;
}

// Calls receive() until it stops returning EAGAIN. If the last read emptied the socket, it waits for the next edge
// before calling receive(), unless the wait would fail or throw anyway. After a wait that timed out, was interrupted or
// could not begin, it tries once, because newer bytes may already have arrived. After a cancellation it does not: the
// bytes stay in the socket.
template <class Receive>
void EpollFiberStream::readWith(Receive receive, Deadline deadline, ErrorCode& error) {
    thisFiber::yieldIfDue();  // otherwise a busy peer could keep this fiber running without end
    error = {};
    const detail::IoWaiter::Claim claim(reader_);
    if (!claim) error = detail::IoWaiter::alreadyInUse();
    const auto received = [&] {
        const ssize_t result = receive();
        if (detail::wouldBlock(result)) return false;
        error = result > 0 ? ErrorCode() : inputEnded(result);
        return true;
    };
    bool tryFirst = readable_ || NonSuspendingScope::active() || detail::cancellationDue() || reader_.interrupted();
    for (; !error; tryFirst = true) {
        if (!isOpen()) {
            error = operationAborted();
            return;
        }
        if (tryFirst && received()) return;
        error = waitFor(reader_, "TcpStream::read", deadline);
        const bool cancelled = error == operationAborted() && isRegistered();
        const bool once = (!cancelled && !tryFirst) || reader_.interrupted();
        if (error && once && isOpen()) return void(received());
    }
}

ssize_t EpollFiberStream::receive(std::span<char> into) noexcept {
    const ssize_t result = calls().recv(fd(), into.data(), into.size());
    // An emptied socket waits for its next edge, unless the last edge also announced an end or urgent data.
    const bool drained = detail::wouldBlock(result) || (result > 0 && result < static_cast<ssize_t>(into.size()));
    readable_ = !drained || neverEmptied_;
    return result;
}

ssize_t EpollFiberStream::receive(std::size_t most, Buffer& into) noexcept {
    into = Buffer::tryAllocate(most);
    if (!into) return -ENOMEM;
    const ssize_t result = receive(std::span(into.writeData(), most));
    if (result > 0) {
        into.produced(static_cast<std::size_t>(result));
    } else {
        into = Buffer();  // a waiting fiber holds no buffer
    }
    return result;
}

std::size_t EpollFiberStream::writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) {
    thisFiber::yieldIfDue();
    error = {};
    const detail::IoWaiter::Claim claim(writer_);
    if (!claim) error = detail::IoWaiter::alreadyInUse();
    while (!error) {
        if (!isOpen()) {
            error = operationAborted();
            break;
        }
        const ssize_t count = send(parts);
        if (count >= 0) return static_cast<std::size_t>(count);
        error = detail::wouldBlock(count) ? waitFor(writer_, "TcpStream::write", deadline) : outputFailed(count);
    }
    return 0;
}

// The kernel reports a reset to the first call only. After that, reads look like an orderly end, and writes like writes
// after shutdownOutput(). So the stream stores the reset for all later calls.
[[gnu::cold, gnu::noinline]] ErrorCode EpollFiberStream::inputEnded(ssize_t result) noexcept {
    if (result == 0) return fromErrno(lost_);
    noteLoss(static_cast<int>(-result));
    return fromErrno(static_cast<int>(-result));
}

[[gnu::cold, gnu::noinline]] ErrorCode EpollFiberStream::outputFailed(ssize_t result) noexcept {
    if (result == -EPIPE && lost_ != 0) return fromErrno(lost_);
    noteLoss(static_cast<int>(-result));
    return fromErrno(static_cast<int>(-result));
}

// EPIPE says nothing about the input. It results from a write after shutdownOutput(), and from a reset that follows the
// peer's end, when no input is missing.
void EpollFiberStream::noteLoss(int error) noexcept {
    if (error != EPIPE && detail::endsConnection(error) && lost_ == 0) lost_ = error;
}

std::size_t EpollFiberStream::tryReadSome(std::span<char> into, ErrorCode& error) noexcept {
    const auto failed = [this](ssize_t result) { return inputEnded(result); };
    const std::size_t count = attempt(
        reader_, [&] { return receive(into); }, failed, error);
    if (count == 0 && !error) error = inputEnded(0);
    return count;
}

std::size_t EpollFiberStream::tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept {
    const auto failed = [this](ssize_t result) { return outputFailed(result); };
    return attempt(
        writer_, [&] { return send(parts); }, failed, error);
}

ErrorCode EpollFiberStream::waitFor(detail::IoWaiter& waiter, const char* call, Deadline deadline) {
    if (ErrorCode error = tryAttach()) return error;
    const ErrorCode error = waiter.wait(call, deadline);
    return !error && !isOpen() ? operationAborted() : error;
}

void EpollFiberStream::close() noexcept {
    closeHandle();
    reader_.close();
    writer_.close();
}

// A woken fiber repeats its system call, which reports what has happened.
void EpollFiberStream::onEvents(std::uint32_t events) noexcept {
    constexpr std::uint32_t failed = EPOLLERR | EPOLLHUP;
    constexpr std::uint32_t ended = EPOLLRDHUP | failed;
    if (events & (EPOLLOUT | failed)) writer_.wake();
    if (!(events & (EPOLLIN | EPOLLPRI | ended))) return;
    readable_ = true;
    if (events & (EPOLLPRI | ended)) neverEmptied_ = true;
    reader_.wake();
}

}  // namespace weft
