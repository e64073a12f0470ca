// Question: what does the kernel alone charge for a request and its answer over epoll on one thread?
// The floor of every HTTP scenario: a hand-written loop that counts header terminators and sends a canned 130-byte
// response for each, whatever was asked; one write per read batch. It parses nothing else, so nothing can beat it
// honestly by more than the kernel path it chose; every other server is reported as a ratio to it. With --answer-ids
// (response_varied) it writes a new id into each answer.

#include <sys/epoll.h>

#include <memory>
#include <unordered_map>

#include "../../support/canned_response.hpp"
#include "../../support/endpoint.hpp"
#include "../../support/quit_signals.hpp"
#include "../../support/request_counter.hpp"

namespace weft::perf {
namespace {

constexpr std::size_t readSize = 16 * 1024;
struct Connection {
    int fd;
    RequestCounter requests;
    std::size_t owed = 0;  // response bytes not yet accepted by the kernel
};

template <bool withId>
class Server {
  public:
    explicit Server(const sockaddr_in& address) {
        quitFd_ = quitSignals();
        epollFd_ = epoll_create1(EPOLL_CLOEXEC);
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
            return;  // level-triggered: unread input is reported again
        }
        const ssize_t got = recv(connection.fd, buffer_, readSize, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) return close(connection);
        const std::size_t answers = connection.requests.count(buffer_, static_cast<std::size_t>(got));
        block_.begin(answers);
        connection.owed = answers * block_.response.size();
        if (connection.owed > 0 && writeOwed(connection) && connection.owed > 0)
            watch(EPOLL_CTL_MOD, connection.fd, EPOLLOUT, &connection);  // read on once it has accepted its answers
    }

    // Writes until nothing is owed or the socket is full. Returns false when the connection has closed.
    bool writeOwed(Connection& connection) {
        while (connection.owed > 0) {
            const std::string_view next = block_.owed(connection.owed);
            const ssize_t sent = send(connection.fd, next.data(), next.size(), MSG_NOSIGNAL);
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
        connections_.erase(fd);  // at most one event per descriptor is in a batch, so none can be stale
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
    CannedBlock<withId> block_;
    std::unordered_map<int, std::unique_ptr<Connection>> connections_;
    char buffer_[readSize];
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    weft::perf::Flags flags(argc, argv, "--listen ADDR:PORT [--answer-ids]");
    const sockaddr_in address = weft::perf::endpointFlag(flags, "--listen");
    const bool withId = flags.present("--answer-ids");
    flags.finish();
    if (withId) weft::perf::Server<true>(address).run();
    else weft::perf::Server<false>(address).run();
    return 0;
}
