// An HTTP server that answers from fibers, and a fiber that sends it a request.
#include <weft/weft.hpp>

#include <iostream>
#include <string>

namespace {

struct Hello final : weft::SimpleInboundHandler<weft::http::FullRequest> {
    void channelRead0(weft::ChannelHandlerContext& ctx, weft::http::FullRequest request) override {
        ctx.spawn([responder = request.responder()]() mutable { responder.send(weft::http::ok("Hello, World!")); });
    }
};

}  // namespace

int main() {
    weft::EventLoopGroup group;
    weft::ServerBootstrap bootstrap(group);
    bootstrap.childHandler([](weft::Channel& channel) {
        channel.pipeline().addLast<weft::http::ServerCodec>().addLast<weft::http::ObjectAggregator>().addLast<Hello>();
    });
    const weft::Server server = bootstrap.bind("127.0.0.1", 0).sync().channel();
    auto asking = group.carriers().carrier(0).spawn(
        [address = server.localAddress()] { return std::string(weft::http::get(address, "/").body()); });
    const std::string answer = asking.join();
    std::cout << answer << std::endl;
    return answer == "Hello, World!" ? 0 : 1;
}
