// Question: what does the pipeline cost where bytes are all there is to move? One handler, which writes back the
// buffers it receives and reads no faster than the peer accepts them.
#include <weft/framework/event_loop_group.hpp>
#include <weft/framework/run_until_signal.hpp>
#include <weft/framework/server_bootstrap.hpp>

#include "../../support/weft_server.hpp"

namespace weft::perf {
namespace {

class Echo final : public ChannelInboundHandler {
  public:
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override { ctx.write(std::move(message)); }
    void channelReadComplete(ChannelHandlerContext& ctx) override { ctx.flush(); }
    void channelWritabilityChanged(ChannelHandlerContext& ctx) override {
        ctx.channel().setOption(ChannelOption::AUTO_READ, ctx.channel().isWritable());
    }
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr) override { ctx.close(); }
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft;
    perf::Flags flags(argc, argv, "[--listen ADDR:PORT] [--transport epoll]");
    const perf::ServerFlags wanted(flags);
    flags.finish();
    return perf::runServer(flags, [&] {
        EventLoopGroup group(wanted.group());
        ServerBootstrap bootstrap(group);
        bootstrap.childHandler([](Channel& channel) { channel.pipeline().addLast<perf::Echo>(); });
        const Server server = bootstrap.bind(SocketAddress::parse(wanted.listen)).sync().channel();
        perf::announce(server.localAddress().toString());
        return runUntilSignal(group, std::chrono::milliseconds(0));
    });
}
