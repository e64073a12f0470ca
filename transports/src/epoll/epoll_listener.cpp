// Accept cycles: up to 16 connections, then other handles have their turn. A shortage of descriptors or memory (E-7)
// pauses only this listener, by a timer of its loop.
#include "epoll/epoll_listener.hpp"

#include <cerrno>
#include <new>

#include <weft/pipeline/channel.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "socket_errors.hpp"

namespace weft {

// ---- accepting ----

void EpollListener::wantRead(bool on) {
    wantsRead_ = on;
    if (on && acceptable_ && !paused()) requeue();
}

void EpollListener::onEvents(std::uint32_t events) {
    if (!listening()) return;
    if (events != 0) acceptable_ = true;
    if (acceptable_ && wantsRead_ && !paused()) acceptConnections();
}

void EpollListener::acceptConnections() {
    bool delivered = false;
    AcceptStep step = AcceptStep::next;
    for (unsigned accepts = 0; step == AcceptStep::next && accepts < acceptsPerCycle; ++accepts) {
        step = acceptOne(delivered);
    }
    if (step == AcceptStep::closed) return;
    if (delivered) channel().onReadComplete();
    if (!isOpen()) return;
    if (step == AcceptStep::failed) {
        if (!pauseAccepting()) requeue();
        return channel().onError(acceptError_);
    }
    if (acceptable_ && wantsRead_) requeue();
}

void EpollListener::acceptWaiting() {
    if (!listening()) return;
    bool delivered = false;
    acceptable_ = true;
    for (unsigned accepts = 0; acceptable_ && accepts < mostWaiting; ++accepts) {
        const AcceptStep step = acceptOne(delivered);
        if (step == AcceptStep::closed || step == AcceptStep::failed) break;
    }
    if (delivered && isOpen()) channel().onReadComplete();
}

EpollListener::AcceptStep EpollListener::acceptOne(bool& delivered) {
    const int result = acceptNow();
    if (detail::wouldBlock(result)) {
        acceptable_ = false;
        return AcceptStep::stop;
    }
    if (result < 0) {
        if (detail::connectionWasLost(-result)) return AcceptStep::next;
        acceptError_ = fromErrno(-result);
        return AcceptStep::failed;
    }
    try {
        deliver(Fd(result, calls()));
    } catch (const std::bad_alloc&) {  // this connection is lost; the others wait for memory
        acceptError_ = fromErrno(ENOMEM);
        return AcceptStep::failed;
    }
    delivered = true;
    if (!isOpen()) return AcceptStep::closed;
    return wantsRead_ && channel().keepReading() ? AcceptStep::next : AcceptStep::stop;
}

// ---- leaving ----

void EpollListener::deregister(ChannelPromise promise) {
    detach(true);
    promise.trySuccess();
}

void EpollListener::close(ChannelPromise promise) {
    cancelPause();
    closeHandle();
    promise.trySuccess();
}

}  // namespace weft
