// Question: what does a request cost in Boost.Beast, which parses and writes HTTP over Asio?
// One thread; it reads, answers and writes one message at a time, as Beast's own examples do, so each pipelined request
// costs a write.

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <memory>

#include "../../support/asio_server.hpp"
#include "../../support/beast_answer.hpp"

namespace weft::perf {
namespace {

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
        answer_ =
            known ? answerTo(request_, http::status::ok, "Hello, World!") : answerTo(request_, http::status::not_found);
        http::async_write(socket_, answer_, [self = shared_from_this()](error_code error, std::size_t) {
            if (!error && self->answer_.keep_alive()) self->read();
        });
    }

    tcp::socket socket_;
    boost::beast::flat_buffer buffer_;
    BeastRequest request_;
    BeastAnswer answer_;
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    return weft::perf::serveAsio<weft::perf::Connection>(argc, argv);
}
