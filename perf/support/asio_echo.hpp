// The connection that the echo servers over Asio share: only the context and the buffer size differ.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include <boost/asio/write.hpp>

#include "asio_server.hpp"

namespace weft::perf {

inline constexpr std::size_t smallPiece = 4 * 1024;  // bytes; the largest read of these servers

// An echo by callbacks: a read of at most `most` bytes, then a write of these bytes from the same buffer.
template <std::size_t most = smallPiece>
class EchoConnection : public std::enable_shared_from_this<EchoConnection<most>> {
  public:
    explicit EchoConnection(tcp::socket socket) : socket_(std::move(socket)) {}

    void read() {
        socket_.async_read_some(asio::buffer(buffer_),
                                [self = this->shared_from_this()](error_code error, std::size_t count) {
                                    if (!error) self->write(count);
                                });
    }

  private:
    void write(std::size_t count) {
        asio::async_write(socket_, asio::buffer(buffer_, count),
                          [self = this->shared_from_this()](error_code error, std::size_t) {
                              if (!error) self->read();
                          });
    }

    tcp::socket socket_;
    std::array<char, most> buffer_;
};

}  // namespace weft::perf
