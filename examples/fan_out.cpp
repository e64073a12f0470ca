// Structured concurrency: the fiber of a request calls two backends at the same time, and no fiber outlives its
// request. When one backend fails, the call to the other is cancelled; when the client resets its connection, both are.
#include "support/program.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

using weft::http::Response;
using weft::http::Status;

// Shared by the handlers of all connections; read-only.
struct Backends {
    weft::SocketAddress left;
    weft::SocketAddress right;
};

struct Flags {
    examples::ServerFlags server;
    std::optional<weft::SocketAddress> left;
    std::optional<weft::SocketAddress> right;

    explicit Flags(CLI::App& app) : server(app, weft::SocketAddress("127.0.0.1", 8080)) {
        examples::addAddress(app, "--left", left, "address of the first backend")->required();
        examples::addAddress(app, "--right", right, "address of the second backend")->required();
    }
};

std::string ask(const weft::SocketAddress& backend, const std::string& target) {
    const weft::Buffer body = weft::http::get(backend, target);  // throws ClientError unless the status is 2xx
    return std::string(body.view());
}

// Returns both responses as one JSON object. Takes as long as the slower backend.
Response fetchBoth(const Backends& backends, const std::string& target) {
    try {
        const auto [left, right] =
            weft::joinAll([&] { return ask(backends.left, target); }, [&] { return ask(backends.right, target); });
        return weft::http::ok("{\"left\":" + left + ",\"right\":" + right + "}\n", "application/json");
    } catch (const weft::http::ClientError& error) {
        return weft::http::error(Status::badGateway, error.what());
    }
}

// The last handler of a connection's pipeline.
class FanOut final : public weft::SimpleInboundHandler<weft::http::FullRequest> {
  public:
    explicit FanOut(std::shared_ptr<const Backends> backends) noexcept : backends_(std::move(backends)) {}

    void exceptionCaught(weft::ChannelHandlerContext& ctx, std::exception_ptr cause) override {
        weft::log(weft::LogLevel::debug, "fan_out: " + weft::describe(cause));
        ctx.close();
    }

  protected:
    // Closing the channel cancels this fiber; joinAll() then cancels its children and awaits them.
    void channelRead0(weft::ChannelHandlerContext& ctx, weft::http::FullRequest request) override {
        ctx.spawn([backends = backends_, target = std::string(request.target()),
                   responder = request.responder()]() mutable { responder.send(fetchBoth(*backends, target)); });
    }

  private:
    const std::shared_ptr<const Backends> backends_;
};

int run(const CLI::App& app, const Flags& flags) {
    weft::EventLoopGroup group(flags.server.group);
    const auto backends = std::make_shared<const Backends>(Backends{*flags.left, *flags.right});
    weft::ServerBootstrap server(group);
    server.childHandler([backends](weft::Channel& channel) {
        channel.pipeline()
            .addLast<weft::http::ServerCodec>()
            .addLast<weft::http::ObjectAggregator>(1 << 16)
            .addLast<FanOut>(backends);
    });
    return examples::serve(app, flags.server, group, server);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Queries two backends concurrently for each request, and returns both responses.", "fan_out");
    const Flags flags(app);
    return examples::runProgram(app, argc, argv, [&] { return run(app, flags); });
}
