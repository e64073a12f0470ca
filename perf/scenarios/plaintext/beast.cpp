// Question: what does a request cost in Boost.Beast, which parses and writes HTTP over Asio?
// One thread; it reads, answers and writes one message at a time, as Beast's own examples do, so each pipelined request
// costs a write. With --answer-ids (response_varied) each answer has an id in a header.

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <memory>

#include "../../support/asio_server.hpp"
#include "../../support/beast_answer.hpp"
#include "../../support/ids.hpp"

namespace weft::perf {
namespace {

bool answerIds = false;

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
        if (answerIds) answer_.set("X-Request-Id", nextId());
        http::async_write(socket_, answer_, [self = shared_from_this()](error_code error, std::size_t) {
            if (!error && self->answer_.keep_alive()) self->read();
        });
    }

    static boost::beast::string_view nextId() {
        static std::uint64_t ids = 0;
        static char id[idSize];
        writeId(id, ++ids);
        return {id, idSize};
    }

    tcp::socket socket_;
    boost::beast::flat_buffer buffer_;
    BeastRequest request_;
    BeastAnswer answer_;
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--listen ADDR:PORT [--answer-ids]");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    answerIds = flags.present("--answer-ids");
    flags.finish();
    asio::io_context context(1);
    serveAsio(context, address, [](tcp::socket socket) { std::make_shared<Connection>(std::move(socket))->read(); });
    return 0;
}
