// Question: what does Boost.Asio's reactor cost where the application does next to nothing?
// An io_context on one thread; requests are found by their empty line, answers are canned, and all answers to what one
// read brought leave in one write. Asio knows no HTTP, so this is its ceiling.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/write.hpp>
#include <memory>

#include "../../support/endpoint.hpp"
#include "../../support/plaintext_answers.hpp"

namespace weft::perf {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    explicit Connection(tcp::socket socket) : socket_(std::move(socket)) {}

    void read() {
        if (filled_ == sizeof input_) return;  // a head larger than the buffer: the last reference closes
        socket_.async_read_some(asio::buffer(input_ + filled_, sizeof input_ - filled_),
                                [self = shared_from_this()](error_code error, std::size_t count) {
                                    if (!error) self->answer(count);
                                });
    }

  private:
    void answer(std::size_t count) {
        filled_ += count;
        const std::size_t taken = answerWhole({input_, filled_}, output_);
        filled_ -= taken;
        memmove(input_, input_ + taken, filled_);
        if (output_.empty()) return read();
        asio::async_write(socket_, asio::buffer(output_), [self = shared_from_this()](error_code error, std::size_t) {
            self->output_.clear();
            if (!error) self->read();
        });
    }

    tcp::socket socket_;
    char input_[kMaxRequestHead];
    std::size_t filled_ = 0;
    std::string output_;
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
