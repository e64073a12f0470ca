// One keep-alive connection of the load generator: writes requests, reads answers, remembers since when the
// requests in flight count. Owned by Load; knows no schedule and no statistics.
#pragma once

#include <sys/epoll.h>

#include <variant>

#include "../support/endpoint.hpp"
#include "echo_reader.hpp"

namespace weft::perf {

class LoadConnection {
  public:
    using Reader = std::variant<ResponseReader, EchoReader>;

    LoadConnection(int epollFd, const sockaddr_in& server, Reader reader)
        : epollFd_(epollFd), fd_(connectTo(server)), reader_(std::move(reader)) {
        watch(EPOLL_CTL_ADD, EPOLLIN);
    }
    LoadConnection(const LoadConnection&) = delete;
    ~LoadConnection() { close(); }

    unsigned outstanding() const { return outstanding_; }

    /// Sends `requests` pipelined requests whose text is `block`, which outlives the connection; nothing may be in
    /// flight. A broken connection shows at the next receive().
    void send(std::string_view block, unsigned requests) {
        if (!unsent_.empty()) die("a server answered requests before it can have read them");
        outstanding_ += requests;
        unsent_ = block.substr(write(block));
        if (!unsent_.empty()) watch(EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
    }

    /// Writes what an earlier send() could not.
    void resumeSend() {
        unsent_.remove_prefix(write(unsent_));
        if (unsent_.empty()) watch(EPOLL_CTL_MOD, EPOLLIN);
    }

    /// One read. `failure` is set when the connection is of no further use (it is closed then).
    ResponseReader::Batch receive(char* buffer, std::size_t size) {
        const ssize_t got = ::recv(fd_, buffer, size, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
        ResponseReader::Batch batch;
        const auto taken = [&](auto& reader) { return reader.consume(buffer, static_cast<std::size_t>(got)); };
        if (got > 0) batch = std::visit(taken, reader_);
        else batch.failure = got == 0 ? "the server closed a connection" : std::strerror(errno);
        if (batch.responses > outstanding_) batch.failure = "more responses than requests";
        outstanding_ -= std::min(batch.responses, outstanding_);
        if (batch.failure) close();
        return batch;
    }

    std::int64_t blockStart = 0;    // of the requests in flight: when they were sent (open loop: due)

  private:
    std::size_t write(std::string_view text) {
        const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
        return sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }

    void watch(int operation, std::uint32_t events) {
        epoll_event event{};
        event.events = events;
        event.data.ptr = this;
        if (epoll_ctl(epollFd_, operation, fd_, &event) < 0) die("epoll_ctl", errno);
    }

    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

    int epollFd_;
    int fd_;
    unsigned outstanding_ = 0;
    std::string_view unsent_;    // of the block that was sent last
    Reader reader_;
};

}  // namespace weft::perf
