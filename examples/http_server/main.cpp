// The HTTP server: handlers that answer at once, fibers that block, and a backend behind both. Its flags, and the
// pipeline of a connection; the application itself is in routes.cpp.
#include "support/program.hpp"

#include <memory>
#include <optional>

#include "http_server/inspect.hpp"
#include "http_server/routes.hpp"

namespace {

constexpr std::size_t maxBodyBytes = 1 << 20;

struct Flags {
    examples::ServerFlags server;
    std::optional<weft::SocketAddress> backend;
    bool inspect = false;

    explicit Flags(CLI::App& app) : server(app, weft::SocketAddress("127.0.0.1", 8080)) {
        examples::addAddress(app, "--backend", backend, "whom /fruits asks; without it /fruits answers 502");
        app.add_flag("--inspect", inspect, "answer every request with what was understood of it, as JSON in base64");
    }
};

weft::http::ServerCodecOptions codecOptions() {
    weft::http::ServerCodecOptions options;
    options.serverName = "weft";
    return options;
}

int run(const CLI::App& app, const Flags& flags) {
    weft::EventLoopGroup group(flags.server.group);
    const auto site = std::make_shared<const examples::Site>(examples::Site{group.carriers(), flags.backend});
    weft::ServerBootstrap server(group);
    server.childHandler([site, inspect = flags.inspect](weft::Channel& channel) {
        auto& pipeline = channel.pipeline();
        pipeline.addLast<weft::http::ServerCodec>(codecOptions()).addLast<weft::http::ObjectAggregator>(maxBodyBytes);
        if (inspect) {
            pipeline.addLast<examples::Inspect>();
        } else {
            pipeline.addLast<examples::Routes>(site);
        }
    });
    return examples::serve(app, flags.server, group, server);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Serves /plaintext, /fiber, /sleep?ms=N, /fruits, /echo and /stats.", "http_server");
    const Flags flags(app);
    return examples::runProgram(app, argc, argv, [&] { return run(app, flags); });
}
