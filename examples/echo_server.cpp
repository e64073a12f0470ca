// An echo server as a pipeline: one handler, which the event loop calls for each event of a connection. It reads only
// as fast as the peer accepts the echo.
#include "support/program.hpp"

#include <exception>
#include <utility>

namespace {

class Echo final : public weft::ChannelInboundHandler {
  public:
    void channelRead(weft::ChannelHandlerContext& ctx, weft::Message&& message) override {
        ctx.write(std::move(message));
    }
    void channelReadComplete(weft::ChannelHandlerContext& ctx) override { ctx.flush(); }
    void channelWritabilityChanged(weft::ChannelHandlerContext& ctx) override {
        ctx.channel().setOption(weft::ChannelOption::AUTO_READ, ctx.channel().isWritable());
    }
    // On a drain, closes after the last byte has been written: an empty write completes after all earlier ones.
    void userEventTriggered(weft::ChannelHandlerContext& ctx, weft::Message&& event) override {
        if (!event.is<weft::DrainStarted>()) return ctx.fireUserEventTriggered(std::move(event));
        weft::ChannelPromise last = ctx.newPromise();
        last.addListener(weft::closeChannel);
        ctx.writeAndFlush(weft::Buffer::wrapStatic(""), std::move(last));
    }
    void exceptionCaught(weft::ChannelHandlerContext& ctx, std::exception_ptr) override { ctx.close(); }
};

int run(const CLI::App& app, const examples::ServerFlags& flags) {
    weft::EventLoopGroup group(flags.group);
    weft::ServerBootstrap server(group);
    server.childHandler([](weft::Channel& channel) { channel.pipeline().addLast<Echo>(); });
    return examples::serve(app, flags, group, server);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Sends back what it receives, from a channel pipeline.", "echo_server");
    const examples::ServerFlags flags(app, weft::SocketAddress("127.0.0.1", 7007));
    return examples::runProgram(app, argc, argv, [&] { return run(app, flags); });
}
