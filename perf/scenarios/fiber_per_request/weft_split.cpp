// Question: what does it cost to run each request on a fiber of a second pool of threads, instead of the loop's own?
#include "../../support/weft_server.hpp"

int main(int argc, char** argv) {
    using namespace weft;
    perf::Flags flags(argc, argv, "[--listen ADDR:PORT] [--transport epoll] [--workers N=1]");
    const perf::ServerFlags wanted(flags);
    const auto workers = static_cast<unsigned>(flags.number("--workers", 1, 1, 64));
    flags.finish();
    return perf::runServer(flags, [&] {
        ShutdownSignals signals;
        EventLoopGroup group(wanted.group());
        CarrierGroup pool(wanted.workers(workers));
        const Server server = perf::bindHttp(group, wanted.listen, [&pool](ChannelPipeline& pipeline) {
            pipeline.addLast<perf::SplitHandler<perf::PlainAnswer>>(pool, perf::PlainAnswer{"/fiber"});
        });
        return perf::runSplitUntilSignal(group, pool, signals);
    });
}
