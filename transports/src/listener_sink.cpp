#include "listener_sink.hpp"

#include <cerrno>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include <sys/socket.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "connect_error.hpp"

namespace weft {

ListenerSink::ListenerSink(SystemCalls& calls, Channel& channel, ChildLoopChooser chooser) noexcept
    : socketCalls_(calls),
      channel_(channel),
      chooser_(std::move(chooser)),
      backlog_(std::numeric_limits<int>::max()) {}  // the kernel caps it at net.core.somaxconn

ListenerSink::~ListenerSink() {
    cancelPause();
}

void ListenerSink::setDefaults(int socket) noexcept {
    detail::setSocketOption(socketCalls_, socket, SocketOption::reuseAddress, 1);
    detail::setSocketOption(socketCalls_, socket, SocketOption::noDelay, 1);
}

void ListenerSink::bind(const SocketAddress& local, ChannelPromise promise) {
    const ErrorCode error =
        socket() < 0 ? operationAborted() : detail::bindAndListen(socketCalls_, socket(), local, backlog_);
    if (error) {
        promise.tryFailure(detail::bindError(error, local));
        return;
    }
    listening_ = true;
    onListening();
    promise.trySuccess();
}

void ListenerSink::connect(const SocketAddress&, const SocketAddress*, ChannelPromise promise) {
    promise.tryFailure(fromErrno(EOPNOTSUPP));
}

void ListenerSink::shutdownOutput(ChannelPromise promise) {
    promise.tryFailure(fromErrno(EOPNOTSUPP));
}

// ---- connections ----

int ListenerSink::acceptNow() noexcept {
    return socketCalls_.accept4(socket(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void ListenerSink::deliver(Fd connection) {
    EventLoop& loop = chooser_ ? chooser_() : channel_.loop();
    SocketIoHandler* const poller = &loop == &channel_.loop() ? &sockets() : SocketIoHandler::of(loop);
    if (!poller) {
        log(LogLevel::error, "listener: closed an accepted connection: the loop chosen for it has no SocketIoHandler");
        return;
    }
    ChannelRef child = Channel::create(loop);
    child->attach(poller->stream(std::move(connection), *child));
    child->setActive(true);
    channel_.onMessage(Message::of<ChannelRef>(std::move(child)));
}

// E-7: a shortage pauses this listener only; other listeners and all connections continue.
bool ListenerSink::pauseAccepting() {
    paused_ = true;
    try {
        resume_ = channel_.loop().schedule(
            [this] {
                paused_ = false;
                onPauseEnded();
            },
            shortagePause);
    } catch (const std::exception&) {  // the loop is ending, or there is no memory for a timer: no pause
        paused_ = false;
    }
    return paused_;
}

void ListenerSink::cancelPause() noexcept {
    if (resume_) resume_.cancel();
}

// ---- options ----

ErrorCode ListenerSink::setOption(SocketOption option, int value) {
    if (socket() < 0) return operationAborted();
    if (option != SocketOption::backlog) return detail::setSocketOption(socketCalls_, socket(), option, value);
    backlog_ = value;
    return {};
}

ErrorCode ListenerSink::getOption(SocketOption option, int& value) const {
    if (socket() < 0) return operationAborted();
    if (option != SocketOption::backlog) return detail::getSocketOption(socketCalls_, socket(), option, value);
    value = backlog_;
    return {};
}

SocketAddress ListenerSink::localAddress() const {
    return detail::localAddressOf(socketCalls_, socket());
}

}  // namespace weft
