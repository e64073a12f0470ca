// Echo over either transport, to count system calls (docs/adr/0009-io-uring-spike.md).
//   echo_uring_weft epoll|uring         prints its port, serves until its input ends
#include <cstdio>
#include <cstring>
#include <memory>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>
#include <weft/transports/tcp_socket.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

namespace {

using namespace weft;

class Echo final : public ChannelInboundHandler {
  public:
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override { ctx.write(std::move(message)); }
    void channelReadComplete(ChannelHandlerContext& ctx) override {
        ctx.flush();
        ctx.fireChannelReadComplete();
    }
};

class Acceptor final : public ChannelInboundHandler {
  public:
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        ChannelRef child = message.take<ChannelRef>();
        child->pipeline().addLast<Echo>();
        child->registerWithLoop(ChannelPromise());
    }
};

}  // namespace

int main(int argc, char** argv) {
    std::unique_ptr<SocketIoHandler> io;
    if (argc > 1 && std::strcmp(argv[1], "uring") == 0) {
        io = std::make_unique<UringIoHandler>();
    } else {
        io = std::make_unique<EpollIoHandler>();
    }
    SocketIoHandler& sockets = *io;
    CarrierOptions options;
    options.carriers = 1;
    CarrierGroup group(options);
    EventLoop loop(group.carrier(0), std::move(io));
    Future<void> ended = loop.start();
    ChannelRef server = Channel::create(loop);
    server->attach(sockets.listener(openTcpSocket(AF_INET), *server));
    server->pipeline().addLast<Acceptor>();
    server->registerWithLoop().sync();
    server->bind(SocketAddress::loopbackV4(0)).sync();
    Promise<SocketAddress> bound;
    Future<SocketAddress> address = bound.future();
    loop.execute([&] { bound.setValue(server->localAddress()); });
    std::printf("%s\n", address.get().toString().c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    loop.stop();
    ended.get();
}
