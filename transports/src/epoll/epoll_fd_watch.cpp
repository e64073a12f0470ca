// Checks readiness first, parks if not ready, and checks again after each edge. All of it runs on the carrier whose
// poller reports the edges, so that no edge is lost between a check and its park.
#include "epoll/epoll_fd_watch.hpp"

#include <cerrno>

#include <poll.h>

#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>

namespace weft {

ErrorCode EpollFdWatch::wait(Direction direction, Deadline deadline) {
    return direction == Direction::input ? waitFor(readers_, POLLIN, "FdWatch::waitReadable", deadline)
                                         : waitFor(writers_, POLLOUT, "FdWatch::waitWritable", deadline);
}

// Registers before the first check: the kernel rejects some descriptors that poll() accepts but epoll cannot watch.
ErrorCode EpollFdWatch::waitFor(WaitList& waiters, short events, const char* call, Deadline deadline) {
    if (!isOpen()) return operationAborted();
    handler().requireHere(call);
    thisFiber::yieldIfDue();  // a descriptor that is always ready must not keep this fiber running
    if (!isOpen()) return operationAborted();
    if (ErrorCode error = tryAttach()) return error;
    NoLock none;
    ErrorCode refused;
    const auto ready = [&] { return !isOpen() || isReady(events, refused); };
    if (ErrorCode error = waiters.waitUntil(none, deadline, call, ready)) return error;
    return isOpen() ? refused : operationAborted();
}

bool EpollFdWatch::isReady(short events, ErrorCode& error) noexcept {
    pollfd look{EpollHandle::fd(), events, 0};
    const int result = calls().poll(&look, 1, 0);
    if (result < 0) {
        error = fromErrno(-result);
    } else if (look.revents & POLLNVAL) {
        error = fromErrno(EBADF);
    }
    return result != 0;
}

void EpollFdWatch::onEvents(std::uint32_t events) noexcept {
    constexpr std::uint32_t both = EPOLLERR | EPOLLHUP;
    if (events & (EPOLLIN | EPOLLPRI | EPOLLRDHUP | both)) readers_.wakeAll();
    if (events & (EPOLLOUT | both)) writers_.wakeAll();
}

void EpollFdWatch::wakeAll() noexcept {
    readers_.wakeAll();
    writers_.wakeAll();
}

// Another descriptor of the open file, here or in a forked process, would keep the registration alive.
void EpollFdWatch::close() noexcept {
    detach(true);
    closeHandle();
    wakeAll();
}

Fd EpollFdWatch::release() noexcept {
    Fd released = releaseHandle();
    wakeAll();
    return released;
}

}  // namespace weft
