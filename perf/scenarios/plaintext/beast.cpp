// Question: what does a request cost in Boost.Beast, which parses and writes HTTP over Asio?
// One thread; it reads, answers and writes one message at a time, as Beast's own examples do, so each pipelined request
// costs a write.

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <ctime>
#include <memory>

#include "../../support/asio_server.hpp"

namespace weft::perf {
namespace {

namespace http = boost::beast::http;

// The Date header's text, made once a second.
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

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    return weft::perf::serveAsio<weft::perf::Connection>(argc, argv);
}
