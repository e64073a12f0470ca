// A server of channels over real loopback sockets, and handlers for its connections.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/transports/socket_io_handler.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "support/pattern.hpp"

namespace weft::test {

using Initializer = std::function<void(Channel&)>;

// Registers every accepted child with its own loop.
class Acceptor final : public ChannelInboundHandler {
  public:
    explicit Acceptor(Initializer initializer) : initializer_(std::move(initializer)) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        ChannelRef child = message.take<ChannelRef>();
        child->pipeline().addLast([initializer = initializer_](Channel& channel) { initializer(channel); });
        child->registerWithLoop(ChannelPromise());
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        lastError = errorCodeOf(cause).value();
    }
    static inline std::atomic<int> lastError{0};

  private:
    Initializer initializer_;
};

class Echo final : public ChannelInboundHandler {
  public:
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override { ctx.write(std::move(message)); }
    void channelReadComplete(ChannelHandlerContext& ctx) override {
        ctx.flush();
        ctx.fireChannelReadComplete();
    }
};

inline void echo(Channel& channel) {
    channel.pipeline().addLast<Echo>();
}

// Writes `bytes` once the connection is established, then closes it; `outcome` receives the result of the write.
class Sender final : public ChannelInboundHandler {
  public:
    using Outcome = std::function<void(ErrorCode)>;
    explicit Sender(
        const std::string& bytes, Outcome outcome = [](ErrorCode) {})
        : bytes_(bytes), outcome_(std::move(outcome)) {}
    void channelActive(ChannelHandlerContext& ctx) override {
        ChannelPromise promise = ctx.newPromise();
        promise.addListener([this](const ChannelFuture& done) { outcome_(done.error()); });
        promise.addListener(closeChannel);
        ctx.writeAndFlush(Buffer::copyOf(bytes_), promise);
    }

  private:
    const std::string& bytes_;
    Outcome outcome_;
};

// Host: SocketLoops, or one with another transport.
template <class Host>
struct Server {
    Server(Host& host, Initializer child, ChildLoopChooser chooser = {}) : channel(Channel::create(host.loop())) {
        channel->attach(host.poller().listener(openTcpSocket(AF_INET), *channel, std::move(chooser)));
        channel->pipeline().addLast<Acceptor>(std::move(child));
        channel->registerWithLoop().sync();
        channel->bind(SocketAddress::loopbackV4(0)).sync();
        host.inLoop([&] { address = channel->localAddress(); });
    }
    ChannelRef channel;
    SocketAddress address;
};

}  // namespace weft::test
