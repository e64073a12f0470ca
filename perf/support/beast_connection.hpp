// A Boost.Beast HTTP server on one context of Asio: reads, answers and writes one message at a time, as Beast's own
// examples do, so each pipelined request costs a write.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdint>
#include <memory>
#include <utility>

#include "asio_server.hpp"
#include "beast_answer.hpp"
#include "ids.hpp"

namespace weft::perf {
class BeastConnection : public std::enable_shared_from_this<BeastConnection> {
  public:
    explicit BeastConnection(tcp::socket socket, bool answerIds = false)
        : socket_(std::move(socket)), answerIds_(answerIds) {}

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
        if (answerIds_) answer_.set("X-Request-Id", nextId());
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
    const bool answerIds_;
    boost::beast::flat_buffer buffer_;
    BeastRequest request_;
    BeastAnswer answer_;
};

}  // namespace weft::perf
