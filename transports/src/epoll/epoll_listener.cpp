// Accept cycles: up to 16 connections, then other handles have their turn. Shortage of descriptors or memory (E-7)
// pauses this listener alone, by a timer of its loop.
#include "epoll/epoll_listener.hpp"

#include <cerrno>
#include <exception>
#include <limits>
#include <new>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "accept_errors.hpp"

namespace weft {

namespace {

constexpr unsigned acceptsPerCycle = 16;
constexpr unsigned mostWaiting = 65'536;  // accepted in one go by who is about to close, should more and more come

}  // namespace

EpollListener::EpollListener(EpollIoHandler& handler, Fd fd, Channel& channel, ChildLoopChooser chooser) noexcept
    : EpollHandle(handler, EpollHandleKind::listener, std::move(fd)),
      channel_(channel),
      chooser_(std::move(chooser)),
      backlog_(std::numeric_limits<int>::max()) {  // the kernel cuts it to net.core.somaxconn
    // Defaults (netty-semantics 2.13), here so that an option set before bind() overrides them. Accepted sockets
    // inherit TCP_NODELAY from the listening one, which saves a system call per connection.
    setOption(SocketOption::reuseAddress, 1);
    setOption(SocketOption::noDelay, 1);
}

EpollListener::~EpollListener() {
    if (resume_) resume_.cancel();
}

void EpollListener::registered() {
    attach();
}

void EpollListener::bind(const SocketAddress& local, ChannelPromise promise) {
    if (ErrorCode error = bindAndListen(local)) {
        promise.tryFailure(std::make_exception_ptr(SystemError(error, "bind to " + local.toString())));
        return;
    }
    listening_ = true;
    dropPendingEvents();  // a socket that does not listen yet reports a hang-up
    promise.trySuccess();
}

ErrorCode EpollListener::bindAndListen(const SocketAddress& local) noexcept {
    if (!isOpen()) return operationAborted();
    return detail::bindAndListen(calls(), fd(), local, backlog_);
}

void EpollListener::connect(const SocketAddress&, const SocketAddress*, ChannelPromise promise) {
    promise.tryFailure(fromErrno(EOPNOTSUPP));
}

void EpollListener::flush(OutboundBuffer&) {}

void EpollListener::shutdownOutput(ChannelPromise promise) {
    promise.tryFailure(fromErrno(EOPNOTSUPP));
}

// ---- accepting ----

void EpollListener::wantRead(bool on) {
    wantsRead_ = on;
    if (on && acceptable_ && !paused_) requeue();
}

void EpollListener::onEvents(std::uint32_t events) {
    if (!listening_) return;
    if (events != 0) acceptable_ = true;
    if (acceptable_ && wantsRead_ && !paused_) acceptConnections();
}

void EpollListener::acceptConnections() {
    bool delivered = false;
    AcceptStep step = AcceptStep::next;
    for (unsigned accepts = 0; step == AcceptStep::next && accepts < acceptsPerCycle; ++accepts) {
        step = acceptOne(delivered);
    }
    if (step == AcceptStep::closed) return;
    if (delivered) channel_.onReadComplete();
    if (!isOpen()) return;
    if (step == AcceptStep::failed) {
        pauseAccepting();
        return channel_.onError(acceptError_);
    }
    if (acceptable_ && wantsRead_) requeue();
}

void EpollListener::acceptWaiting() {
    if (!listening_) return;
    bool delivered = false;
    acceptable_ = true;
    for (unsigned accepts = 0; acceptable_ && accepts < mostWaiting; ++accepts) {
        const AcceptStep step = acceptOne(delivered);
        if (step == AcceptStep::closed || step == AcceptStep::failed) break;
    }
    if (delivered && isOpen()) channel_.onReadComplete();
}

EpollListener::AcceptStep EpollListener::acceptOne(bool& delivered) {
    const int result = calls().accept4(fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (detail::wouldBlock(result)) {
        acceptable_ = false;
        return AcceptStep::pause;
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
    return wantsRead_ && channel_.keepReading() ? AcceptStep::next : AcceptStep::pause;
}

void EpollListener::deliver(Fd connection) {
    EventLoop& loop = chooser_ ? chooser_() : channel_.loop();
    SocketIoHandler* poller = &loop == &channel_.loop() ? &handler() : SocketIoHandler::of(loop);
    if (!poller) {
        log(LogLevel::error, "listener: the loop chosen for a connection has no sockets; the connection is closed");
        return;
    }
    ChannelRef child = Channel::create(loop);
    child->attach(poller->stream(std::move(connection), *child));
    child->setActive(true);
    channel_.onMessage(Message::of<ChannelRef>(std::move(child)));
}

// E-7. The edge is remembered, so nothing is lost; other listeners and every connection go on.
void EpollListener::pauseAccepting() {
    paused_ = true;
    try {
        resume_ = channel_.loop().schedule(
            [this] {
                paused_ = false;
                if (acceptable_ && wantsRead_) requeue();
            },
            shortagePause);
    } catch (const std::exception&) {  // the loop is ending, or no memory for a timer: the next edge tries again
        paused_ = false;
    }
}

// ---- leaving ----

void EpollListener::closeChannel() noexcept {
    channel_.close(ChannelPromise());
}

void EpollListener::deregister(ChannelPromise promise) {
    detach(true);
    promise.trySuccess();
}

void EpollListener::close(ChannelPromise promise) {
    if (resume_) resume_.cancel();
    closeHandle();
    promise.trySuccess();
}

ErrorCode EpollListener::setOption(SocketOption option, int value) {
    if (!isOpen()) return operationAborted();
    if (option != SocketOption::backlog) return detail::setSocketOption(calls(), fd(), option, value);
    backlog_ = value;
    return {};
}

ErrorCode EpollListener::getOption(SocketOption option, int& value) const {
    if (!isOpen()) return operationAborted();
    if (option != SocketOption::backlog) return detail::getSocketOption(calls(), fd(), option, value);
    value = backlog_;
    return {};
}

SocketAddress EpollListener::localAddress() const {
    return detail::localAddressOf(calls(), fd());
}
SocketAddress EpollListener::remoteAddress() const {
    return {};
}

}  // namespace weft
