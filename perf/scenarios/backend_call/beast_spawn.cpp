// Question: what does a request cost whose stackful coroutine over Asio waits for a backend, with Beast's HTTP?
// One thread, and a coroutine of asio::spawn for each connection, which handles one message at a time. Connections to
// the backend are kept and reused last in, first out.

#define BOOST_ASIO_DISABLE_BOOST_COROUTINE  // deprecated; the coroutines are those of Boost.Context

#include <boost/asio/detached.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "../../support/asio_server.hpp"
#include "../../support/beast_answer.hpp"

namespace weft::perf {
namespace {

class Backend {
  public:
    Backend(asio::io_context& context, const sockaddr_in& address)
        : context_(context), endpoint_(asio::ip::address_v4(ntohl(address.sin_addr.s_addr)), ntohs(address.sin_port)) {}

    // The body of the backend's answer; nullopt if the call failed.
    std::optional<std::string> call(const asio::yield_context& yield) {
        auto link = idle_.empty() ? connect(yield) : takeIdle();
        if (!link) return std::nullopt;
        error_code error;
        http::request<http::empty_body> request(http::verb::get, "/", 11);
        request.set(http::field::host, "backend");
        http::async_write(link->socket, request, yield[error]);
        if (error) return std::nullopt;
        http::response<http::string_body> answer;
        http::async_read(link->socket, link->buffer, answer, yield[error]);
        if (error) return std::nullopt;
        if (answer.keep_alive()) idle_.push_back(std::move(link));
        return std::move(answer.body());
    }

  private:
    struct Link {
        explicit Link(asio::io_context& context) : socket(context) {}
        tcp::socket socket;
        boost::beast::flat_buffer buffer;
    };

    // nullptr if the backend refuses.
    std::unique_ptr<Link> connect(const asio::yield_context& yield) {
        auto link = std::make_unique<Link>(context_);
        error_code error;
        link->socket.async_connect(endpoint_, yield[error]);
        if (error) return nullptr;
        link->socket.set_option(tcp::no_delay(true));
        return link;
    }

    std::unique_ptr<Link> takeIdle() {
        auto link = std::move(idle_.back());
        idle_.pop_back();
        return link;
    }

    asio::io_context& context_;
    tcp::endpoint endpoint_;
    std::vector<std::unique_ptr<Link>> idle_;
};

BeastAnswer answer(const BeastRequest& request, Backend& backend, const asio::yield_context& yield) {
    if (request.method() != http::verb::get || request.target() != "/backend")
        return answerTo(request, http::status::not_found);
    auto body = backend.call(yield);
    if (!body) return answerTo(request, http::status::bad_gateway);
    return answerTo(request, http::status::ok, std::move(*body));
}

void converse(tcp::socket& socket, Backend& backend, const asio::yield_context& yield) {
    boost::beast::flat_buffer buffer;
    error_code error;
    for (bool open = true; open;) {
        BeastRequest request;
        http::async_read(socket, buffer, request, yield[error]);
        if (error) return;
        BeastAnswer message = answer(request, backend, yield);
        http::async_write(socket, message, yield[error]);
        open = !error && message.keep_alive();
    }
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--listen ADDR:PORT --backend ADDR:PORT");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    const sockaddr_in backendAddress = endpointFlag(flags, "--backend");
    flags.finish();

    asio::io_context context(1);
    Backend backend(context, backendAddress);
    serveAsio(context, address, [&](tcp::socket accepted) {
        asio::spawn(
            context,
            [&backend, socket = std::move(accepted)](const asio::yield_context& yield) mutable {
                converse(socket, backend, yield);
            },
            asio::detached);
    });
    return 0;
}
