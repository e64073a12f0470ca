// FiberSink: the sink of a connection that a fiber serves through a TcpStream. Its channel has no bytes: it is what the
// server knows of the connection, for drains, closes and options.
#pragma once

#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/detail/unpolled_channels.hpp>
#include <weft/transports/fiber_stream.hpp>
#include <weft/transports/socket_io_handler.hpp>

namespace weft::detail {

// What the channel is asked to send fails its output with EOPNOTSUPP, and a filter cannot be added to it.
class FiberSink final : public ChannelSink {
  public:
    // See ChildSetup::makeSink.
    static std::unique_ptr<ChannelSink> make(SocketIoHandler& sockets, Fd fd, Channel& channel) {
        return std::make_unique<FiberSink>(sockets.fiberStream(std::move(fd)), channel);
    }
    FiberSink(std::unique_ptr<FiberStream> socket, Channel& channel) noexcept
        : unopened_(std::move(socket)), socket_(unopened_.get()), channel_(channel), polled_(channel) {}

    // Keeps the channel, and closes it with the last one. Any thread may destroy it.
    class User {
      public:
        explicit User(FiberSink& sink) noexcept : channel_(sink.channel_), sink_(&sink) {
            sink.users_.fetch_add(1, std::memory_order_relaxed);  // the count cannot fall to 0 meanwhile
        }
        User(User&& other) noexcept : channel_(other.channel_), sink_(std::exchange(other.sink_, nullptr)) {}
        ~User();
        User& operator=(User&&) = delete;

        FiberSink& sink() const noexcept { return *sink_; }

      private:
        ChannelRef channel_;
        FiberSink* sink_;  // null: moved from
    };

    // The stream, once. Its end closes the socket.
    std::unique_ptr<FiberStream> open();
    // A read that waits, or would have to, fails with operation_aborted.
    void drain() noexcept;

    void registered() override { polled_.join(); }
    void bind(const SocketAddress&, ChannelPromise promise) override { promise.tryFailure(fromErrno(EOPNOTSUPP)); }
    void connect(const SocketAddress&, const SocketAddress*, ChannelPromise promise) override {
        promise.tryFailure(fromErrno(EISCONN));
    }
    void wantRead(bool) override {}
    void flush(ChannelOutput&) override;
    void shutdownOutput(ChannelPromise promise) override { promise.tryFailure(fromErrno(EOPNOTSUPP)); }
    void deregister(ChannelPromise promise) override { promise.tryFailure(fromErrno(EOPNOTSUPP)); }
    // A fiber that waits in the stream gets operation_aborted.
    void close(ChannelPromise promise) override;
    ErrorCode setOption(SocketOption option, int value) override {
        return socket_ != nullptr ? socket_->setOption(option, value) : operationAborted();
    }
    ErrorCode getOption(SocketOption option, int& value) const override {
        return socket_ != nullptr ? socket_->getOption(option, value) : operationAborted();
    }
    SocketAddress localAddress() const override {
        return socket_ != nullptr ? socket_->localAddress() : SocketAddress();
    }
    SocketAddress remoteAddress() const override {
        return socket_ != nullptr ? socket_->remoteAddress() : SocketAddress();
    }
    bool takesMessages() const noexcept override { return true; }
    Channel& channel() const noexcept { return channel_; }

  private:
    class Stream;

    std::unique_ptr<FiberStream> unopened_;
    FiberStream* socket_;  // null: it has ended
    Channel& channel_;
    UnpolledChannels::Member polled_;
    std::atomic<unsigned> users_{0};
};

}  // namespace weft::detail
