// FiberSink: the sink of a connection that a fiber serves through a TcpStream. Its channel has no bytes: it is what the
// server knows of the connection, for drains, closes and options.
#pragma once

#include <cerrno>
#include <memory>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/transports/fiber_stream.hpp>
#include <weft/transports/socket_io_handler.hpp>

namespace weft::detail {

// Owns the socket; open() makes the stream that the fiber uses. Whatever the channel is asked to send fails its output
// with EOPNOTSUPP, and a filter cannot be added to it.
class FiberSink final : public ChannelSink {
  public:
    // See ChildSetup::makeSink.
    static std::unique_ptr<ChannelSink> make(SocketIoHandler& sockets, Fd fd, Channel& channel) {
        return std::make_unique<FiberSink>(sockets.fiberStream(std::move(fd)), channel);
    }
    FiberSink(std::unique_ptr<FiberStream> socket, Channel& channel) noexcept
        : socket_(std::move(socket)), channel_(channel) {}

    // A stream that keeps the channel, and so this object. Its destructor closes the socket and drops `user`.
    std::unique_ptr<FiberStream> open(std::shared_ptr<void> user);
    // From now on, a read that would have to wait fails with operation_aborted.
    void drain() noexcept {
        drained_ = true;
        socket_->shutdownInput();
    }
    bool isDrained() const noexcept { return drained_; }
    FiberStream& socket() noexcept { return *socket_; }

    void registered() override {}
    void bind(const SocketAddress&, ChannelPromise promise) override { promise.tryFailure(fromErrno(EOPNOTSUPP)); }
    void connect(const SocketAddress&, const SocketAddress*, ChannelPromise promise) override {
        promise.tryFailure(fromErrno(EISCONN));
    }
    void wantRead(bool) override {}
    void flush(ChannelOutput&) override;
    void shutdownOutput(ChannelPromise promise) override { promise.tryFailure(fromErrno(EOPNOTSUPP)); }
    void deregister(ChannelPromise promise) override { promise.tryFailure(fromErrno(EOPNOTSUPP)); }
    // A fiber that waits in the stream gets operation_aborted.
    void close(ChannelPromise promise) override {
        socket_->close();
        promise.trySuccess();
    }
    ErrorCode setOption(SocketOption option, int value) override { return socket_->setOption(option, value); }
    ErrorCode getOption(SocketOption option, int& value) const override { return socket_->getOption(option, value); }
    SocketAddress localAddress() const override { return socket_->localAddress(); }
    SocketAddress remoteAddress() const override { return socket_->remoteAddress(); }
    bool takesMessages() const noexcept override { return true; }

  private:
    const std::unique_ptr<FiberStream> socket_;
    Channel& channel_;
    bool drained_ = false;
};

}  // namespace weft::detail
