// One accept runs for as long as connections are wanted. Shortage of descriptors or memory (E-7) pauses this listener
// alone, by a timer of its loop.
#include "uring/uring_listener.hpp"

#include <cerrno>
#include <exception>
#include <limits>
#include <new>

#include <liburing.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/transports/tcp_socket.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

#include "accept_errors.hpp"

namespace weft {

namespace {

constexpr unsigned acceptsPerCycle = 16;
constexpr std::size_t mostAccepted = 64;   // connections that are kept before the accept is cancelled
constexpr unsigned mostWaiting = 65'536;  // accepted in one go before a close, should more and more come

}  // namespace

const UringOperation::Kind UringListener::Accept::kind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        const UringListener& self = static_cast<Accept&>(operation).listener;
        io_uring_prep_multishot_accept(&entry, self.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    },
    [](UringOperation& operation, int result, unsigned) {
        static_cast<Accept&>(operation).listener.completed(result);
    }};

UringListener::UringListener(UringIoHandler& handler, Fd fd, Channel& channel, ChildLoopChooser chooser) noexcept
    : UringHandle(handler, std::move(fd)),
      channel_(channel),
      chooser_(std::move(chooser)),
      backlog_(std::numeric_limits<int>::max()),  // the kernel cuts it to net.core.somaxconn
      accept_(*this) {
    // Defaults (netty-semantics 2.13), here so that an option set before bind() overrides them. Accepted sockets
    // inherit TCP_NODELAY from the listening one.
    setOption(SocketOption::reuseAddress, 1);
    setOption(SocketOption::noDelay, 1);
}

UringListener::~UringListener() {
    if (resume_) resume_.cancel();
}

void UringListener::registered() {
    attach();
}

void UringListener::bind(const SocketAddress& local, ChannelPromise promise) {
    const ErrorCode error = isOpen() ? detail::bindAndListen(calls(), fd(), local, backlog_) : operationAborted();
    if (error) {
        promise.tryFailure(std::make_exception_ptr(SystemError(error, "bind to " + local.toString())));
        return;
    }
    listening_ = true;
    adjust();
    promise.trySuccess();
}

void UringListener::connect(const SocketAddress&, const SocketAddress*, ChannelPromise promise) {
    promise.tryFailure(fromErrno(EOPNOTSUPP));
}

void UringListener::flush(OutboundBuffer&) {}

void UringListener::shutdownOutput(ChannelPromise promise) {
    promise.tryFailure(fromErrno(EOPNOTSUPP));
}

// ---- accepting ----

void UringListener::wantRead(bool on) {
    wantsRead_ = on;
    if (on && !accepted_.empty()) requeue();
    adjust();
}

// Starts or ends the accept, as connections are wanted.
void UringListener::adjust() {
    const bool wanted = listening_ && wantsRead_ && !paused_ && !leaving() && isRegistered() && !acceptError_;
    if (!accept_.inFlight()) {
        if (wanted && accepted_.empty()) start(accept_);
    } else if (!wanted || accepted_.size() >= mostAccepted) {
        cancel(accept_);
    }
}

void UringListener::completed(int result) {
    if (result >= 0) {
        Fd connection(result, calls());
        try {
            if (leaving_ != Leaving::closing) accepted_.push(std::move(connection));
        } catch (const std::bad_alloc&) {  // this connection is lost; the others wait for memory
            noteError(ENOMEM);
        }
    } else if (result != -ECANCELED && !detail::connectionWasLost(-result)) {
        noteError(-result);
    }
    if (leaving()) return operationEnded();
    if (!accepted_.empty() || acceptError_) requeue();
    adjust();
}

void UringListener::noteError(int error) noexcept {
    acceptError_ = fromErrno(error);
}

void UringListener::dispatch() {
    if (leaving() || !listening_) return;
    bool delivered = false;
    for (unsigned accepts = 0; wantsRead_ && !accepted_.empty() && accepts < acceptsPerCycle; ++accepts) {
        delivered |= deliverWaiting();
        if (leaving()) return;
        if (!channel_.keepReading()) break;
    }
    if (delivered) channel_.onReadComplete();
    if (leaving()) return;
    if (acceptError_ && accepted_.empty()) {
        pauseAccepting();
        channel_.onError(std::exchange(acceptError_, {}));
        if (leaving()) return;
    }
    if (wantsRead_ && !accepted_.empty()) requeue();
    adjust();
}

void UringListener::acceptWaiting() {
    if (!listening_ || leaving()) return;
    bool delivered = false;
    while (!leaving() && !accepted_.empty()) delivered |= deliverWaiting();
    for (unsigned accepts = 0; !leaving() && accepts < mostWaiting; ++accepts) {
        const int result = calls().accept4(fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (result < 0 && detail::connectionWasLost(-result)) continue;
        if (result < 0) break;
        try {
            accepted_.push(Fd(result, calls()));
        } catch (const std::bad_alloc&) {
            break;
        }
        delivered |= deliverWaiting();
    }
    if (delivered && !leaving()) channel_.onReadComplete();
}

bool UringListener::deliverWaiting() {
    try {
        deliver(accepted_.pop());
        return true;
    } catch (const std::bad_alloc&) {
        noteError(ENOMEM);
        return false;
    }
}

void UringListener::deliver(Fd connection) {
    EventLoop& loop = chooser_ ? chooser_() : channel_.loop();
    SocketIoHandler* const poller = SocketIoHandler::of(loop);
    if (!poller) {
        log(LogLevel::error, "listener: the loop chosen for a connection has no sockets; the connection is closed");
        return;
    }
    ChannelRef child = Channel::create(loop);
    child->attach(poller->stream(std::move(connection), *child));
    child->setActive(true);
    channel_.onMessage(Message::of<ChannelRef>(std::move(child)));
}

void UringListener::pauseAccepting() {
    paused_ = true;
    try {
        resume_ = channel_.loop().schedule(
            [this] {
                paused_ = false;
                adjust();
            },
            shortagePause);
    } catch (const std::exception&) {  // the loop is ending, or no memory for a timer
        paused_ = false;
    }
}

// ---- leaving ----

void UringListener::abort() noexcept {
    channel_.close(ChannelPromise());
}

void UringListener::leave(Leaving how, ChannelPromise promise) {
    std::exchange(left_, std::move(promise)).tryFailure(operationAborted());
    leaving_ = how;
    cancel(accept_);
    operationEnded();
}

void UringListener::operationEnded() {
    if (!leaving() || inFlight() != 0 || !isOpen()) return;
    if (leaving_ == Leaving::closing) {
        if (resume_) resume_.cancel();
        accepted_.clear();
        closeHandle();
    } else {
        leaving_ = Leaving::no;
        detach();
    }
    std::exchange(left_, {}).trySuccess();
}

void UringListener::deregister(ChannelPromise promise) {
    leave(Leaving::deregistering, std::move(promise));
}

void UringListener::close(ChannelPromise promise) {
    if (!isOpen()) {
        promise.trySuccess();
        return;
    }
    leave(Leaving::closing, std::move(promise));
}

ErrorCode UringListener::setOption(SocketOption option, int value) {
    if (!isOpen()) return operationAborted();
    if (option != SocketOption::backlog) return detail::setSocketOption(calls(), fd(), option, value);
    backlog_ = value;
    return {};
}

ErrorCode UringListener::getOption(SocketOption option, int& value) const {
    if (!isOpen()) return operationAborted();
    if (option != SocketOption::backlog) return detail::getSocketOption(calls(), fd(), option, value);
    value = backlog_;
    return {};
}

SocketAddress UringListener::localAddress() const {
    return detail::localAddressOf(calls(), fd());
}
SocketAddress UringListener::remoteAddress() const {
    return {};
}

}  // namespace weft
