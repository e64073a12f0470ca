// Question: what does the kernel alone charge for a request and its answer over epoll on one thread?
// The floor of every HTTP scenario: a hand-written loop that counts header terminators and sends a canned 130-byte
// response for each, whatever was asked; one write per read batch. It parses nothing else, so nothing can beat it
// honestly by more than the kernel path it chose; every other server is reported as a ratio to it.

#include <sys/epoll.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "../../support/canned_response.hpp"
#include "../../support/endpoint.hpp"
#include "../../support/quit_signals.hpp"

namespace weft::perf {
namespace {

constexpr std::size_t kReadSize = 16 * 1024;
constexpr std::size_t kTerminator = 4;              // "\r\n\r\n"
constexpr std::size_t kCarry = kTerminator - 1;     // most bytes of a read that may belong to a cut terminator
constexpr std::size_t kBlockResponses = 512;        // answers that one write can carry

struct Connection {
    int fd;
    char carry[kCarry];          // end of the last read, as far as no terminator has claimed it
    std::size_t carried = 0;
    std::size_t owed = 0;        // response bytes not yet accepted by the kernel
};

/// Counts the terminators in [begin, end) and keeps what may be the head of the next one in `connection.carry`.
std::size_t countRequests(Connection& connection, const char* begin, const char* end) {
    std::size_t found = 0;
    const char* from = begin;    // first byte that no terminator has claimed
    const char* cursor = begin;
    while (const void* hit = memchr(cursor, '\n', static_cast<std::size_t>(end - cursor))) {
        const char* newline = static_cast<const char*>(hit);
        cursor = newline + 1;
        if (cursor - from >= static_cast<std::ptrdiff_t>(kTerminator) && memcmp(newline - 3, "\r\n\r", 3) == 0) {
            ++found;
            from = cursor;
        }
    }
    connection.carried = std::min<std::size_t>(static_cast<std::size_t>(end - from), kCarry);
    memcpy(connection.carry, end - connection.carried, connection.carried);
    return found;
}

class Server {
  public:
    explicit Server(const sockaddr_in& address) {
        quitFd_ = quitSignals();
        epollFd_ = epoll_create1(EPOLL_CLOEXEC);
        for (std::size_t i = 0; i < kBlockResponses; ++i) block_.append(kCannedResponse);
        listenFd_ = listenAndAnnounce(address);
        watch(EPOLL_CTL_ADD, quitFd_, EPOLLIN, &quitFd_);
        watch(EPOLL_CTL_ADD, listenFd_, EPOLLIN, &listenFd_);
    }

    void run() {
        epoll_event events[256];
        for (;;) {
            const int count = epoll_wait(epollFd_, events, std::size(events), -1);
            if (count < 0 && errno != EINTR) die("epoll_wait", errno);
            for (int i = 0; i < count; ++i) {
                void* const who = events[i].data.ptr;
                if (who == &quitFd_) return;
                if (who == &listenFd_) acceptAll();
                else serve(*static_cast<Connection*>(who), events[i].events);
            }
        }
    }

  private:
    void acceptAll() {
        int fd;
        while ((fd = accept4(listenFd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
            setNoDelay(fd);
            auto connection = std::make_unique<Connection>();
            connection->fd = fd;
            watch(EPOLL_CTL_ADD, fd, EPOLLIN, connection.get());
            connections_[fd] = std::move(connection);
        }
    }

    void serve(Connection& connection, std::uint32_t events) {
        if (events & EPOLLOUT) {
            if (!writeOwed(connection) || connection.owed > 0) return;
            watch(EPOLL_CTL_MOD, connection.fd, EPOLLIN, &connection);
            return;    // level-triggered: unread input is reported again
        }
        memcpy(buffer_, connection.carry, connection.carried);
        const ssize_t got = recv(connection.fd, buffer_ + connection.carried, kReadSize, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) return close(connection);
        const char* const end = buffer_ + connection.carried + got;
        connection.owed = countRequests(connection, buffer_, end) * kCannedResponse.size();
        if (connection.owed > 0 && writeOwed(connection) && connection.owed > 0)
            watch(EPOLL_CTL_MOD, connection.fd, EPOLLOUT, &connection);    // read on when the peer took its answers
    }

    /// Writes until nothing is owed or the socket is full. False: the connection is gone.
    bool writeOwed(Connection& connection) {
        constexpr std::size_t kSize = kCannedResponse.size();
        while (connection.owed > 0) {
            const std::size_t phase = (kSize - connection.owed % kSize) % kSize;    // sent bytes of the first answer
            const std::size_t length = std::min(connection.owed, block_.size() - phase);
            const ssize_t sent = send(connection.fd, block_.data() + phase, length, MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent < 0 && errno == EAGAIN) return true;
            if (sent < 0) return close(connection), false;
            connection.owed -= static_cast<std::size_t>(sent);
        }
        return true;
    }

    void close(Connection& connection) {
        const int fd = connection.fd;
        ::close(fd);
        connections_.erase(fd);    // at most one event per descriptor is in a batch, so none can be stale
    }

    void watch(int operation, int fd, std::uint32_t events, void* who) {
        epoll_event event{};
        event.events = events;
        event.data.ptr = who;
        if (epoll_ctl(epollFd_, operation, fd, &event) < 0) die("epoll_ctl", errno);
    }

    int quitFd_ = -1;
    int epollFd_ = -1;
    int listenFd_ = -1;
    std::string block_;
    std::unordered_map<int, std::unique_ptr<Connection>> connections_;
    char buffer_[kCarry + kReadSize];
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    weft::perf::Flags flags(argc, argv, "--listen ADDR:PORT");
    const sockaddr_in address = weft::perf::endpointFlag(flags, "--listen");
    flags.finish();
    weft::perf::Server(address).run();
    return 0;
}
