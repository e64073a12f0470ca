// One keep-alive connection of the load generator: writes requests, reads responses, remembers since when the
// requests in flight count. Owned by Load; knows no schedule and no statistics.
#pragma once

#include <sys/epoll.h>

#include "../support/endpoint.hpp"
#include "response_reader.hpp"

namespace weft::perf {

class LoadConnection {
  public:
    LoadConnection(int epollFd, const sockaddr_in& server, const Expectation& expected, KnownResponse& known)
        : epollFd_(epollFd), fd_(connectTo(server)), reader_(expected, known) {
        watch(EPOLL_CTL_ADD, EPOLLIN);
    }
    LoadConnection(const LoadConnection&) = delete;
    ~LoadConnection() { close(); }

    unsigned outstanding() const { return outstanding_; }

    /// Sends `requests` pipelined requests whose text is `block`. A broken connection shows at the next receive().
    void send(std::string_view block, unsigned requests) {
        outstanding_ += requests;
        if (!unsent_.empty()) {
            unsent_.append(block);
            return;
        }
        const std::size_t sent = write(block);
        if (sent == block.size()) return;
        unsent_.assign(block.substr(sent));
        watch(EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
    }

    /// Writes what an earlier send() could not.
    void resumeSend() {
        unsent_.erase(0, write(unsent_));
        if (unsent_.empty()) watch(EPOLL_CTL_MOD, EPOLLIN);
    }

    /// One read. `failure` is set when the connection is of no further use (it is closed then).
    ResponseReader::Batch receive(char* buffer, std::size_t size) {
        const ssize_t got = ::recv(fd_, buffer, size, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
        ResponseReader::Batch batch;
        if (got > 0) batch = reader_.consume(buffer, static_cast<std::size_t>(got));
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
    std::string unsent_;
    ResponseReader reader_;
};

}  // namespace weft::perf
