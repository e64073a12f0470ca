// Connection: a local socket whose peer answers when it is told to.
#pragma once

#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

namespace weft::asio_io::order {

namespace asio = boost::asio;
using Local = asio::local::stream_protocol;

class Connection {
  public:
    explicit Connection(asio::io_context& context) : socket(context), peer_(context) {
        asio::local::connect_pair(socket, peer_);
    }
    Connection(Connection&&) = default;

    template <class Handler>
    void read(Handler handler) {
        socket.async_read_some(asio::buffer(byte_.get(), 1), handler);
    }
    // A local socket's byte is there at once.
    void sendByte() { asio::write(peer_, asio::buffer("x", 1)); }

    Local::socket socket;

  private:
    Local::socket peer_;
    std::unique_ptr<char> byte_ = std::make_unique<char>();
};

}  // namespace weft::asio_io::order
