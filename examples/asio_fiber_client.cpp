// A library written for Asio inside a Weft server: the fiber of a request runs Boost.Beast's HTTP client on the
// request's own carrier. The code reads as if it blocked, but the carrier serves other requests meanwhile.
#include "support/program.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context_group.hpp>
#include <weft/asio_io/use_fiber.hpp>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using weft::asio_io::use_fiber;
using weft::http::Response;
using weft::http::Status;

constexpr std::chrono::seconds timeout(5);  // for the backend

// Shared by the handlers of all connections; read-only.
struct Backend {
    weft::asio_io::ContextGroup& contexts;
    tcp::endpoint address;
};

// Context: a fiber of one of the contexts' carriers.
Response fetch(const Backend& backend, const std::string& target) {
    const auto wait = use_fiber.within(timeout);
    try {
        tcp::socket socket(backend.contexts.next());  // the context of this carrier
        socket.async_connect(backend.address, wait);
        http::request<http::empty_body> request(http::verb::get, target, 11);
        request.set(http::field::host, backend.address.address().to_string());
        request.keep_alive(false);
        http::async_write(socket, request, wait);
        boost::beast::flat_buffer buffer;
        http::response<http::string_body> answer;
        http::async_read(socket, buffer, answer, wait);
        if (answer.result() != http::status::ok)
            return weft::http::error(Status::badGateway, "the backend answered " + std::to_string(answer.result_int()));
        return weft::http::ok(answer.body(), answer[http::field::content_type]);
    } catch (const weft::SystemError& error) {
        return weft::http::error(Status::badGateway, "the backend: " + error.code().message());
    }
}

// The last handler of a connection's pipeline.
class Fetch final : public weft::SimpleInboundHandler<weft::http::FullRequest> {
  public:
    explicit Fetch(std::shared_ptr<const Backend> backend) noexcept : backend_(std::move(backend)) {}

    void exceptionCaught(weft::ChannelHandlerContext& ctx, std::exception_ptr cause) override {
        weft::log(weft::LogLevel::debug, "asio_fiber_client: " + weft::describe(cause));
        ctx.close();
    }

  protected:
    // Closing the channel cancels this fiber, and with it Asio's operation.
    void channelRead0(weft::ChannelHandlerContext& ctx, weft::http::FullRequest request) override {
        ctx.spawn([backend = backend_, target = std::string(request.target()),
                   responder = request.responder()]() mutable { responder.send(fetch(*backend, target)); });
    }

  private:
    const std::shared_ptr<const Backend> backend_;
};

struct Flags {
    examples::ServerFlags server;
    std::optional<weft::SocketAddress> backend;

    explicit Flags(CLI::App& app) : server(app, weft::SocketAddress("127.0.0.1", 8080)) {
        examples::addAddress(app, "--backend", backend, "address of the HTTP server that answers the requests")
            ->required();
    }
};

int run(const CLI::App& app, const Flags& flags) {
    weft::EventLoopGroupOptions options = flags.server.group;
    options.ioHandler = weft::asio_io::AsioIoHandler::wrap;
    weft::EventLoopGroup group(options);
    weft::asio_io::ContextGroup contexts(group);
    const auto backend = std::make_shared<const Backend>(
        Backend{contexts, {asio::ip::make_address(flags.backend->host()), flags.backend->port()}});
    weft::ServerBootstrap server(group);
    server.childHandler([backend](weft::Channel& channel) {
        channel.pipeline()
            .addLast<weft::http::ServerCodec>()
            .addLast<weft::http::ObjectAggregator>(1 << 16)
            .addLast<Fetch>(backend);
    });
    return examples::serve(app, flags.server, group, server);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Forwards each request to a backend with Boost.Beast, and returns its response.", "asio_fiber_client");
    const Flags flags(app);
    return examples::runProgram(app, argc, argv, [&] { return run(app, flags); });
}
