// Shared by the framework's tests: groups of few carriers, an echo handler, waiting with a limit.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/socket_loops.hpp"

namespace weft::test {

using namespace std::chrono_literals;

inline EventLoopGroupOptions groupOptions(unsigned carriers) {
    EventLoopGroupOptions options;
    options.name = "test";
    options.carriers = carriers;
    return options;
}

class Echo : public ChannelInboundHandler {
  public:
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override { ctx.writeAndFlush(std::move(message)); }
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr) override { ctx.close(); }
};

inline const SocketAddress anyPort = SocketAddress::loopbackV4(0);

inline Server serveEcho(EventLoopGroup& group, AcceptMode mode = AcceptMode::automatic) {
    ServerBootstrap bootstrap(group);
    bootstrap.acceptMode(mode).childHandler([](Channel& channel) { channel.pipeline().addLast<Echo>(); });
    return bootstrap.bind(anyPort).sync().channel();
}

inline std::string echoed(BlockingPeer& peer, std::string_view bytes) {
    peer.send(bytes);
    return peer.receiveExactly(bytes.size());
}

// Polls the condition up to a time limit; for states of other threads that send no notification.
template <class Condition>
bool eventually(Condition condition) {
    for (const Deadline end = testDeadline(); !condition();) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

// For tests with a parameter: the transports of this machine.
inline std::vector<Transport::Kind> transports() {
    if (Transport::best() == Transport::Kind::ioUring) return {Transport::Kind::epoll, Transport::Kind::ioUring};
    return {Transport::Kind::epoll};
}

inline std::string nameOfTransport(const ::testing::TestParamInfo<Transport::Kind>& each) {
    return each.param == Transport::Kind::epoll ? "Epoll" : "Uring";
}

}  // namespace weft::test
