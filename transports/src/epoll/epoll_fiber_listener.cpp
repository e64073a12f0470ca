// Accepting for fibers. Two rules exclude lost wake-ups: after a failed accept the fiber parks before the poller can
// run again on this carrier, and an acceptor that returns with a connection or an error wakes the next waiter.
#include "epoll/epoll_fiber_listener.hpp"

#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "socket_errors.hpp"

namespace weft {

Fd EpollFiberListener::accept(Deadline deadline, ErrorCode& error) {
    thisFiber::yieldIfDue();  // a flood of connections must not starve established ones
    for (;;) {
        if (!isOpen()) {
            error = operationAborted();
            return {};
        }
        const int result = acceptNow();
        if (result >= 0) {
            wakeOne();  // the same edge may have announced more connections
            error = {};
            return Fd(result, calls());
        }
        if (detail::wouldBlock(result)) {
            error = waitForConnection(deadline);
            if (error) return {};
        } else if (!detail::connectionWasLost(-result)) {
            wakeOne();  // the connection stays in the backlog, and this caller may not retry
            error = fromErrno(-result);
            return {};
        }
    }
}

ErrorCode EpollFiberListener::waitForConnection(Deadline deadline) {
    if (ErrorCode error = tryAttach()) return error;
    Suspension wait("TcpListener::accept");
    Acceptor acceptor;
    acceptor.key = wait.key();
    acceptors_.append(acceptor);
    const WakeReason why = wait.park(deadline);
    acceptor.unlink();
    if (why == WakeReason::timeout) return timedOut();
    return why == WakeReason::resource && isOpen() ? ErrorCode() : operationAborted();
}

void EpollFiberListener::wakeOne() noexcept {
    while (detail::ReadyLink* link = acceptors_.popFirst()) {
        if (static_cast<Acceptor*>(link)->key.wake()) return;  // false: its deadline came first, wake the next
    }
}

void EpollFiberListener::close() noexcept {
    closeHandle();
    while (detail::ReadyLink* link = acceptors_.popFirst()) static_cast<Acceptor*>(link)->key.wake();
}

}  // namespace weft
