// One keep-alive connection of the load generator: writes requests, reads answers, and keeps the start time of the
// requests in flight. Owned by Load; knows no schedule and no statistics.
#pragma once

#include <sys/epoll.h>

#include <variant>

#include "../support/endpoint.hpp"
#include "echo_reader.hpp"
#include "tls_socket.hpp"

namespace weft::perf {

class LoadConnection {
  public:
    using Reader = std::variant<ResponseReader, EchoReader>;

    LoadConnection(unsigned number, int epollFd, const sockaddr_in& server, TlsUse tls, Reader reader)
        : number(number), epollFd_(epollFd), socket_(server, tls), reader_(std::move(reader)) {
        watch(EPOLL_CTL_ADD, EPOLLIN);
    }
    LoadConnection(const LoadConnection&) = delete;

    const unsigned number;  // among the connections of the generator, from 0

    unsigned outstanding() const { return outstanding_; }

    // Sends `requests` pipelined requests whose text is `block`. `block` must outlive the connection, and no request
    // may be in flight. The next receive() reports a broken connection.
    void send(std::string_view block, unsigned requests) {
        if (!unsent_.empty()) die("a server answered requests before it can have read them");
        outstanding_ += requests;
        unsent_ = block.substr(write(block));
        if (!unsent_.empty() && !socket_.awaitsPeer()) watch(EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
    }

    // Writes the rest of an earlier send().
    void resumeSend() {
        unsent_.remove_prefix(write(unsent_));
        if (unsent_.empty()) watch(EPOLL_CTL_MOD, EPOLLIN);
    }

    bool isResumed() const { return socket_.isResumed(); }

    // Reads once. `failure` is set when the connection is unusable; it has been closed then.
    ResponseReader::Batch receive(char* buffer, std::size_t size) {
        if (socket_.awaitsPeer()) unsent_.remove_prefix(write(unsent_));
        const ssize_t got = socket_.receive(buffer, size);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
        ResponseReader::Batch batch;
        const auto taken = [&](auto& reader) { return reader.consume(buffer, static_cast<std::size_t>(got)); };
        if (got > 0) batch = std::visit(taken, reader_);
        else batch.failure = got == 0 ? "the server closed a connection" : std::strerror(errno);
        if (batch.responses > outstanding_) batch.failure = "more responses than requests";
        outstanding_ -= std::min(batch.responses, outstanding_);
        if (batch.failure) socket_.close();
        return batch;
    }

    std::int64_t blockStart = 0;  // when the requests in flight were sent (open loop: due)

  private:
    std::size_t write(std::string_view text) {
        const ssize_t sent = socket_.send(text);
        return sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }

    void watch(int operation, std::uint32_t events) {
        epoll_event event{};
        event.events = events;
        event.data.ptr = this;
        if (epoll_ctl(epollFd_, operation, socket_.fd(), &event) < 0) die("epoll_ctl", errno);
    }

    int epollFd_;
    TlsSocket socket_;
    unsigned outstanding_ = 0;
    std::string_view unsent_;  // rest of the last block
    Reader reader_;
};

}  // namespace weft::perf
