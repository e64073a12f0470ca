// The HTTP server: handlers that answer at once, fibers that block, and a backend. This file has the flags and the
// pipeline of a connection; the application itself is in routes.cpp.
#include "support/program.hpp"
#include "support/tls.hpp"

#include <chrono>
#include <memory>
#include <optional>

#include "http_server/inspect.hpp"
#include "http_server/routes.hpp"

namespace {

constexpr std::size_t maxBodyBytes = 1 << 20;

struct Flags {
    examples::ServerFlags server;
    examples::TlsFlags tls;
    std::optional<weft::SocketAddress> backend;
    std::optional<unsigned> requestTimeoutMs;
    bool inspect = false;
    std::optional<std::string> traceFile;

    explicit Flags(CLI::App& app) : server(app, weft::SocketAddress("127.0.0.1", 8080)), tls(app) {
        examples::addAddress(app, "--backend", backend,
                             "address of the backend that /fruits queries; without it /fruits answers 502");
        app.add_option("--request-timeout-ms", requestTimeoutMs,
                       "time for a request that a fiber answers (/sleep, /fruits), 1 to 3600000; then it gets 504; "
                       "default: no limit")
            ->check(CLI::Range(1U, 3'600'000U))
            ->type_name("N");
        app.add_option("--trace-events", server.group.traceEvents,
                       "events that each carrier keeps for /trace; default WEFT_TRACE_EVENTS, else 0")
            ->check(CLI::Range(std::size_t{0}, weft::maxTraceEvents))
            ->type_name("N");
        app.add_option("--trace-file", traceFile, "file that SIGUSR1 writes the trace to; needs --trace-events")
            ->type_name("PATH");
        app.add_flag("--inspect", inspect, "answer every request with its parsed form, as JSON with base64 values");
    }
};

std::shared_ptr<const weft::http::ServerCodecOptions> codecOptions() {
    weft::http::ServerCodecOptions options;
    options.serverName = "weft";
    return std::make_shared<const weft::http::ServerCodecOptions>(options);
}

int run(const CLI::App& app, const Flags& flags) {
    weft::EventLoopGroup group(flags.server.group);
    if (flags.traceFile && group.carriers().options().traceEvents == 0)
        throw weft::ConfigurationError("--trace-file needs --trace-events (or WEFT_TRACE_EVENTS) of 1 or more");
    examples::Site site{group.carriers(), flags.backend, {}};
    if (flags.requestTimeoutMs) site.requestTimeout = std::chrono::milliseconds(*flags.requestTimeoutMs);
    const auto routes = examples::makeRoutes(std::make_shared<const examples::Site>(site));
    const auto fill = [routes, codecOptions = codecOptions(), inspect = flags.inspect](weft::Channel& channel) {
        auto& pipeline = channel.pipeline();
        pipeline.addLast<weft::http::ServerCodec>(codecOptions).addLast<weft::http::ObjectAggregator>(maxBodyBytes);
        if (inspect) {
            pipeline.addLast<examples::Inspect>();
        } else {
            pipeline.addLast<weft::http::Router>(routes).addLast<examples::CloseOnError>();
        }
    };
    weft::ServerBootstrap server(group);
    server.childHandler(fill);
    examples::TlsPort tls(flags.tls, group, fill);
    const weft::CarrierWatchdog watchdog(group.carriers());  // if WEFT_WATCHDOG_MS is set
    std::optional<weft::TraceOnSignal> trace;
    if (flags.traceFile) trace.emplace(group.carriers(), *flags.traceFile);
    return examples::serve(app, flags.server, group, server, tls);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Serves /plaintext, /fiber, /sleep?ms=N, /fruits, /echo, /stats, /fibers and /trace.", "http_server");
    const Flags flags(app);
    return examples::runProgram(app, argc, argv, [&] { return run(app, flags); });
}
