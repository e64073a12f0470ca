// Question: what does Boost.Asio cost where bytes are all there is to move?
// An io_context on one thread; a read of up to 64 KiB, then a write of the same bytes from the same buffer.

#include <boost/asio/write.hpp>
#include <memory>

#include "../../support/asio_server.hpp"
#include "../../support/echo.hpp"

namespace weft::perf {
namespace {

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    explicit Connection(tcp::socket socket) : socket_(std::move(socket)) {}

    void read() {
        socket_.async_read_some(asio::buffer(buffer_),
                                [self = shared_from_this()](error_code error, std::size_t count) {
                                    if (!error) self->write(count);
                                });
    }

  private:
    void write(std::size_t count) {
        asio::async_write(socket_, asio::buffer(buffer_, count),
                          [self = shared_from_this()](error_code error, std::size_t) {
                              if (!error) self->read();
                          });
    }

    tcp::socket socket_;
    char buffer_[kEchoPiece];
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    return weft::perf::serveAsio<weft::perf::Connection>(argc, argv);
}
