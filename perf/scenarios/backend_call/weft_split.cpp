// Question: what does the same call cost when a second pool of threads makes it, the split that Weft replaces?
// The handler hands each request to a fiber of a worker carrier, which has sockets of its own for the backend; the
// answer comes back through the loop's queue. Client, codec and fibers are those of weft.cpp.
#include "../../support/weft_backend.hpp"

int main(int argc, char** argv) {
    using namespace weft;
    perf::Flags flags(argc, argv, "[--listen ADDR:PORT] [--transport epoll] --backend ADDR:PORT [--workers N=1]");
    const perf::ServerFlags wanted(flags);
    const std::string address = flags.requiredText("--backend");
    const auto workers = static_cast<unsigned>(flags.number("--workers", 1, 1, 64));
    flags.finish();
    return perf::runServer(flags, [&] {
        const perf::Backend backend{SocketAddress::parse(address)};
        ShutdownSignals signals;
        EventLoopGroup group(wanted.group());
        EventLoopGroup pool(wanted.workers(workers));
        const Server server = perf::bindHttp(group, wanted.listen, [&](ChannelPipeline& pipeline) {
            pipeline.addLast<perf::SplitHandler<perf::BackendAnswer>>(pool.carriers(), perf::BackendAnswer{&backend});
        });
        return perf::runSplitUntilSignal(group, pool, signals);
    });
}
