// Question: who should accept, a listener per carrier (SO_REUSEPORT) or one acceptor that distributes connections in
// turn? Two carriers answer one request per connection, or many; at the end each loop prints how many connections it
// had.
//   accept_weft --mode perLoop|single --listen 127.0.0.1:8080    then ab -n 20000 -c 32 http://127.0.0.1:8080/plaintext
#include <atomic>
#include <vector>

#include "../../support/weft_server.hpp"

int main(int argc, char** argv) {
    using namespace weft;
    perf::Flags flags(argc, argv, "[--listen ADDR:PORT] --mode perLoop|single");
    const std::string listen = flags.text("--listen", "127.0.0.1:0");
    const std::string mode = flags.requiredText("--mode");
    flags.finish();
    if (mode != "perLoop" && mode != "single") flags.fail("--mode " + mode + ": expected perLoop or single");

    EventLoopGroupOptions options;
    options.carriers = 2;
    EventLoopGroup group(options);
    std::vector<std::atomic<unsigned>> connections(group.size());
    ServerBootstrap bootstrap(group);
    bootstrap.acceptMode(mode == "perLoop" ? AcceptMode::perLoop : AcceptMode::single);
    bootstrap.childHandler([&](Channel& channel) {
        connections[channel.loop().carrier()->index()].fetch_add(1);
        channel.pipeline().addLast<http::ServerCodec>();
        channel.pipeline().addLast<http::ObjectAggregator>();
        channel.pipeline().addLast<perf::InlineHandler>("/plaintext");
    });
    const Server server = bootstrap.bind(SocketAddress::parse(listen)).sync().channel();
    std::printf("listening on %s\n", server.localAddress().toString().c_str());
    std::fflush(stdout);
    const int status = runUntilSignal(group);
    for (std::size_t i = 0; i < connections.size(); ++i) {
        std::printf("loop %zu: %u connections, %llu wake-ups\n", i, connections[i].load(),
                    static_cast<unsigned long long>(group.carriers().carrier(i).stats().wakesPoller));
    }
    return status;
}
