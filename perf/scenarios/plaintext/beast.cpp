// Question: what does a request cost in Boost.Beast, which parses and writes HTTP over Asio?
// One thread; a message is read, answered and written at a time, as Beast's own examples do, so pipelined requests cost
// a write each.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <ctime>
#include <memory>

#include "../../support/endpoint.hpp"

namespace weft::perf {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

/// The Date header's text, made once a second.
const std::string& date() {
    static std::time_t made = 0;
    static std::string text;
    const std::time_t now = std::time(nullptr);
    if (now != made) {
        char buffer[64];
        std::tm parts{};
        gmtime_r(&now, &parts);
        text.assign(buffer, std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &parts));
        made = now;
    }
    return text;
}

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    explicit Connection(tcp::socket socket) : socket_(std::move(socket)) {}

    void read() {
        request_ = {};
        http::async_read(socket_, buffer_, request_, [self = shared_from_this()](error_code error, std::size_t) {
            if (!error) self->answer();
        });
    }

  private:
    void answer() {
        const bool known = request_.target() == "/plaintext";
        response_ = {known ? http::status::ok : http::status::not_found, request_.version()};
        response_.set(http::field::server, "beast");
        response_.set(http::field::content_type, "text/plain");
        response_.set(http::field::date, date());
        response_.keep_alive(request_.keep_alive());
        if (known) response_.body() = "Hello, World!";
        response_.prepare_payload();
        http::async_write(socket_, response_, [self = shared_from_this()](error_code error, std::size_t) {
            if (!error && self->response_.keep_alive()) self->read();
        });
    }

    tcp::socket socket_;
    boost::beast::flat_buffer buffer_;
    http::request<http::string_body> request_;
    http::response<http::string_body> response_;
};

void acceptNext(tcp::acceptor& acceptor) {
    acceptor.async_accept([&acceptor](error_code error, tcp::socket socket) {
        if (error == asio::error::operation_aborted) return;
        if (!error) {
            error_code ignored;
            socket.set_option(tcp::no_delay(true), ignored);
            std::make_shared<Connection>(std::move(socket))->read();
        }
        acceptNext(acceptor);
    });
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--listen ADDR:PORT");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    flags.finish();

    asio::io_context context(1);
    asio::signal_set quit(context, SIGTERM, SIGINT);
    quit.async_wait([&](error_code, int) { context.stop(); });
    tcp::acceptor acceptor(context, tcp::v4(), listenAndAnnounce(address));
    acceptNext(acceptor);
    context.run();
    return 0;
}
