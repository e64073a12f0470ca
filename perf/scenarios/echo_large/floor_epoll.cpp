// Question: what does the kernel alone charge for moving large messages in and out over epoll on one thread?
// A receive, then a send of the same bytes from the same buffer. Bytes that the socket does not accept stay there, and
// nothing is read meanwhile. Only the kernel copies.

#include <sys/epoll.h>

#include <memory>
#include <unordered_map>

#include "../../support/echo.hpp"
#include "../../support/endpoint.hpp"
#include "../../support/quit_signals.hpp"

namespace weft::perf {
namespace {

struct Connection {
    int fd;
    std::size_t begin = 0;  // of the unsent bytes
    std::size_t end = 0;
    char buffer[echoPiece];
};

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
                else serve(*static_cast<Connection*>(who));
            }
        }
    }

  private:
    void acceptAll() {
        int fd;
        while ((fd = accept4(listenFd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
            setNoDelay(fd);
            std::unique_ptr<Connection> connection(new Connection);  // leaves the buffer untouched
            connection->fd = fd;
            watch(EPOLL_CTL_ADD, fd, EPOLLIN, connection.get());
            connections_[fd] = std::move(connection);
        }
    }

    void serve(Connection& connection) {
        const bool waited = connection.begin < connection.end;
        if (!waited) {
            const ssize_t got = recv(connection.fd, connection.buffer, sizeof connection.buffer, 0);
            if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
            if (got <= 0) return close(connection);
            connection.begin = 0;
            connection.end = static_cast<std::size_t>(got);
        }
        const ssize_t sent =
            send(connection.fd, connection.buffer + connection.begin, connection.end - connection.begin, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return close(connection);
        if (sent > 0) connection.begin += static_cast<std::size_t>(sent);
        const bool waits = connection.begin < connection.end;
        if (waits != waited) watch(EPOLL_CTL_MOD, connection.fd, waits ? EPOLLOUT : EPOLLIN, &connection);
    }

    void close(Connection& connection) {
        const int fd = connection.fd;
        ::close(fd);
        connections_.erase(fd);
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
    std::unordered_map<int, std::unique_ptr<Connection>> connections_;
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
