// Question: what does Boost.Asio's reactor cost where the application does next to nothing?
// An io_context on one thread; requests are found by their empty line, answers are canned, and all answers to the
// requests of one read leave in one write. Asio knows no HTTP, so this is its ceiling.

#include <boost/asio/write.hpp>
#include <memory>

#include "../../support/asio_server.hpp"
#include "../../support/plaintext_answers.hpp"

namespace weft::perf {
namespace {

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
    char input_[maxRequestHead];
    std::size_t filled_ = 0;
    std::string output_;
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    return weft::perf::serveAsio<weft::perf::Connection>(argc, argv);
}
