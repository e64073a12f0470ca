// StreamSink: the part of a connected socket's ChannelSink that does not depend on the transport. How it reads and
// writes is the transport's.
#pragma once

#include <cerrno>
#include <utility>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/channel_sink.hpp>
#include <weft/transports/tcp_socket.hpp>

namespace weft {

// Handle: EpollHandle or UringDepartingHandle; it has attach(), isOpen(), calls(), fd() and submitStarted(). Context:
// the channel's carrier.
template <class Handle>
class StreamSink : public Handle, public ChannelSink {
  public:
    void registered() override { this->attach(); }
    // A connected socket already has both addresses.
    void bind(const SocketAddress&, ChannelPromise promise) override { promise.tryFailure(fromErrno(EISCONN)); }
    void connect(const SocketAddress&, const SocketAddress*, ChannelPromise promise) override {
        promise.tryFailure(fromErrno(EISCONN));
    }
    ErrorCode setOption(SocketOption option, int value) override {
        if (!this->isOpen()) return operationAborted();
        this->submitStarted();
        return detail::setSocketOption(this->calls(), this->fd(), option, value);
    }
    ErrorCode getOption(SocketOption option, int& value) const override {
        return this->isOpen() ? detail::getSocketOption(this->calls(), this->fd(), option, value) : operationAborted();
    }
    SocketAddress localAddress() const override { return detail::localAddressOf(this->calls(), this->fd()); }
    SocketAddress remoteAddress() const override { return detail::remoteAddressOf(this->calls(), this->fd()); }

  protected:
    template <class... Arguments>
    explicit StreamSink(Channel& channel, Arguments&&... arguments) noexcept
        : Handle(std::forward<Arguments>(arguments)...), channel_(channel) {}

    Channel& channel_;
};

}  // namespace weft
