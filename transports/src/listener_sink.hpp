// ListenerSink: the part of a listening socket's ChannelSink that does not depend on the transport: options, channels
// for connections, and the pause of rule E-7. It must not know how connections are awaited.
#pragma once

#include <cerrno>
#include <exception>
#include <limits>
#include <utility>

#include <sys/socket.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/channel_sink.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/scheduled_task.hpp>
#include <weft/transports/socket_io_handler.hpp>

#include "socket_errors.hpp"
#include "socket_properties.hpp"

namespace weft {

// Handle: EpollHandle or UringDepartingHandle; it has attach() and handler(), too. Context: the channel's carrier.
template <class Handle>
class ListenerSink : public SocketProperties<Handle, ChannelSink> {
    using Properties = SocketProperties<Handle, ChannelSink>;

  public:
    // How long accepting pauses when descriptors or memory have run out (E-7).
    static constexpr Duration shortagePause = std::chrono::milliseconds(500);

    void registered() override { this->attach(); }
    bool listens() const noexcept override { return true; }
    void bind(const SocketAddress& local, ChannelPromise promise) override {
        const ErrorCode error =
            this->isOpen() ? detail::bindAndListen(this->calls(), this->fd(), local, backlog_) : operationAborted();
        if (error) {
            promise.tryFailure(detail::bindError(error, local));
            return;
        }
        listening_ = true;
        onListening();
        promise.trySuccess();
    }
    void connect(const SocketAddress&, const SocketAddress*, ChannelPromise promise) override {
        promise.tryFailure(fromErrno(EOPNOTSUPP));
    }
    void flush(ChannelOutput&) override {}
    void shutdownOutput(ChannelPromise promise) override { promise.tryFailure(fromErrno(EOPNOTSUPP)); }
    ErrorCode setOption(SocketOption option, int value) override {
        if (!this->isOpen()) return operationAborted();
        if (option != SocketOption::backlog) return detail::setSocketOption(this->calls(), this->fd(), option, value);
        backlog_ = value;
        return {};
    }
    ErrorCode getOption(SocketOption option, int& value) const override {
        if (option != SocketOption::backlog || !this->isOpen()) return Properties::getOption(option, value);
        value = backlog_;
        return {};
    }
    SocketAddress remoteAddress() const override { return {}; }
    // Called when the poller shuts down.
    void closeChannel() noexcept { channel_.close(ChannelPromise()); }

  protected:
    static constexpr unsigned acceptsPerCycle = 16;
    static constexpr unsigned mostWaiting = 65'536;  // limit on the connections accepted in one go before a close

    // Sets the same socket defaults as Netty, here, so that an option set before bind() overrides them. Accepted
    // sockets inherit TCP_NODELAY from the listener, which saves a system call per connection.
    template <class... Arguments>
    ListenerSink(Channel& channel, ChildSetup children, Arguments&&... arguments) noexcept
        : Properties(std::forward<Arguments>(arguments)...), channel_(channel), children_(std::move(children)) {
        detail::setSocketOption(this->calls(), this->fd(), SocketOption::reuseAddress, 1);
        detail::setSocketOption(this->calls(), this->fd(), SocketOption::noDelay, 1);
    }
    ~ListenerSink() override { cancelPause(); }

    // bind() has succeeded; its promise has not been completed yet.
    virtual void onListening() = 0;
    // Accept again, if connections are wanted.
    virtual void onPauseEnded() = 0;

    int acceptNow() noexcept {
        return this->calls().accept4(this->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
    // Makes a channel of the connection and passes it to the listener's channel. Throws std::bad_alloc.
    void deliver(Fd connection) {
        EventLoop& loop = children_.chooseLoop ? children_.chooseLoop() : channel_.loop();
        SocketIoHandler* const sockets = &loop == &channel_.loop() ? &this->handler() : SocketIoHandler::of(loop);
        if (!sockets) {
            log(LogLevel::error,
                "listener: closed an accepted connection: the loop chosen for it has no SocketIoHandler");
            return;
        }
        ChannelRef child = Channel::create(loop);
        child->attach(children_.makeSink != nullptr ? children_.makeSink(*sockets, std::move(connection), *child)
                                                    : sockets->stream(std::move(connection), *child));
        child->setActive(true);
        channel_.onMessage(Message::of<ChannelRef>(std::move(child)));
    }
    // E-7: a shortage pauses this listener only; other listeners and all connections continue. False: there is no
    // pause, so accept again.
    bool pauseAccepting() {
        if (std::exchange(paused_, true)) return true;
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
    void cancelPause() noexcept {
        if (resume_) resume_.cancel();
    }

    Channel& channel() const noexcept { return channel_; }
    bool paused() const noexcept { return paused_; }
    bool listening() const noexcept { return listening_; }

  private:
    Channel& channel_;
    ChildSetup children_;
    int backlog_ = std::numeric_limits<int>::max();  // the kernel caps it at net.core.somaxconn
    ScheduledTask resume_;
    bool listening_ = false;
    bool paused_ = false;
};

}  // namespace weft
