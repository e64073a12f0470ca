// Question: what does http::Service add to the parts that it is made of? --route: `router` and `spawn` are the parts,
// by hand; `loop` and `fiber` the same routes of a Service.
#include <memory>
#include <string>

#include <weft/http/route_table.hpp>
#include <weft/http/router.hpp>
#include <weft/http/service.hpp>

#include "../../support/weft_server.hpp"

namespace weft::perf {
namespace {

constexpr std::string_view path = "/plaintext";

http::Response hello() {
    return http::ok(Buffer::wrapStatic("Hello, World!"));
}

int serveByHand(const Flags& flags, const ServerFlags& wanted, bool inFiber) {
    auto routes = std::make_shared<http::RouteTable>();
    if (inFiber) {
        routes->get(path, [](ChannelHandlerContext& ctx, http::FullRequest request) {
            ctx.spawn([responder = request.responder()]() mutable { responder.send(hello()); });
        });
    } else {
        routes->get(path, [](ChannelHandlerContext& ctx, http::FullRequest) { ctx.writeAndFlush(hello()); });
    }
    return serve(flags, wanted, [routes](ChannelPipeline& pipeline) { pipeline.addLast<http::Router>(routes); });
}

int serveService(const Flags& flags, const ServerFlags& wanted, bool inFiber) {
    flags.finish();
    return runServer(flags, [&] {
        http::Service service({.serverName = "weft"});
        service.get(path, hello, {.inLoop = !inFiber});
        EventLoopGroup group(wanted.group());
        const Server server = service.bind(group, wanted.listen);
        announce(server.localAddress().toString());
        return runUntilSignal(group);
    });
}

int run(int argc, char** argv) {
    Flags flags(argc, argv, std::string(ServerFlags::usage) + " [--route router|loop|spawn|fiber]");
    const ServerFlags wanted(flags);
    const std::string route = flags.text("--route", "fiber");
    const bool inFiber = route == "spawn" || route == "fiber";
    if (route == "router" || route == "spawn") return serveByHand(flags, wanted, inFiber);
    if (route == "loop" || route == "fiber") return serveService(flags, wanted, inFiber);
    flags.fail("--route is '" + route + "'; accepted: router, loop, spawn, fiber");
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    return weft::perf::run(argc, argv);
}
