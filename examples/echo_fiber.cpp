// The echo server as blocking code: a fiber for each connection reads and writes in turn, on the carrier that accepted
// the connection. On a drain, a read that waits throws, which ends the connection.
#include "support/program.hpp"

namespace {

void echo(weft::TcpStream stream) {
    for (;;) {
        const weft::Buffer bytes = stream.read(4096);  // a waiting fiber holds no buffer
        if (bytes.empty()) return;
        stream.write(bytes.view());
    }
}

int run(const CLI::App& app, const examples::ServerFlags& flags) {
    weft::EventLoopGroup group(flags.group);
    weft::ServerBootstrap server(group);
    server.childFiber(echo);
    return examples::serve(app, flags, group, server);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Sends back what it receives, with a fiber per connection.", "echo_fiber");
    const examples::ServerFlags flags(app, weft::SocketAddress("127.0.0.1", 7008));
    return examples::runProgram(app, argc, argv, [&] { return run(app, flags); });
}
