// Question: what does a request cost when its fiber, on the connection's own carrier, waits for a backend?
#include "../../support/weft_backend.hpp"

int main(int argc, char** argv) {
    using namespace weft;
    perf::Flags flags(argc, argv, "[--listen ADDR:PORT] [--transport epoll] --backend ADDR:PORT");
    const perf::ServerFlags wanted(flags);
    const std::string address = flags.requiredText("--backend");
    flags.finish();
    return perf::runServer(flags, [&] {
        const perf::Backend backend{SocketAddress::parse(address)};
        EventLoopGroup group(wanted.group());
        const Server server = perf::bindHttp(group, wanted.listen, [&backend](ChannelPipeline& pipeline) {
            pipeline.addLast<perf::FiberHandler<perf::BackendAnswer>>(perf::BackendAnswer{&backend});
        });
        return runUntilSignal(group);
    });
}
