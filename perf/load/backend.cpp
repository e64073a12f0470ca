// The backend of the rig: answers every HTTP request with 200 and --body after --think-us microseconds, on one thread.
// Each request has its own due time. All requests have one think time, so due times are in order and a queue serves as
// the timer: the backend stays far lighter than any server that calls it.

#include <sys/epoll.h>
#include <sys/prctl.h>

#include <deque>
#include <unordered_set>

#include "../support/endpoint.hpp"
#include "../support/quit_signals.hpp"
#include "clock.hpp"

namespace weft::perf {
namespace {

constexpr std::size_t maxHead = 16 * 1024;

struct Connection {
    int fd;               // -1: the peer has closed, and its answers are dropped
    std::string partial;  // an incomplete request head
    unsigned due = 0;     // answers
};

struct Due {
    std::int64_t at;
    Connection* to;
};

class Backend {
  public:
    Backend(const sockaddr_in& address, std::int64_t think, const std::string& body) : think_(think) {
        answer_ = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) +
                  "\r\n\r\n" + body;
        prctl(PR_SET_TIMERSLACK, 1);  // ns; the default would let a wait end 50 us late
        quitFd_ = quitSignals();
        epollFd_ = epoll_create1(EPOLL_CLOEXEC);
        listenFd_ = listenAndAnnounce(address);
        watch(quitFd_, &quitFd_);
        watch(listenFd_, &listenFd_);
    }
    Backend(const Backend&) = delete;
    ~Backend() {
        for (Connection* connection : connections_) delete connection;
    }

    void run() {
        epoll_event events[256];
        for (;;) {
            const std::int64_t wait = due_.empty() ? 0 : std::max<std::int64_t>(due_.front().at - now(), 0);
            const timespec timeout{wait / 1'000'000'000, wait % 1'000'000'000};
            const int count =
                epoll_pwait2(epollFd_, events, std::size(events), due_.empty() ? nullptr : &timeout, nullptr);
            if (count < 0 && errno != EINTR) die("epoll_pwait2", errno);
            for (int i = 0; i < count; ++i) {
                void* const who = events[i].data.ptr;
                if (who == &quitFd_) return;
                if (who == &listenFd_) acceptAll();
                else receive(*static_cast<Connection*>(who));
            }
            const std::int64_t time = now();
            for (; !due_.empty() && due_.front().at <= time; due_.pop_front()) answer(*due_.front().to);
        }
    }

  private:
    void acceptAll() {
        int fd;
        while ((fd = accept4(listenFd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
            setNoDelay(fd);
            auto* const connection = new Connection{fd, {}};
            connections_.insert(connection);
            watch(fd, connection);
        }
    }

    void receive(Connection& connection) {
        const ssize_t got = ::recv(connection.fd, buffer_, sizeof buffer_, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) return close(connection);
        const std::int64_t at = now() + think_;
        connection.partial.append(buffer_, static_cast<std::size_t>(got));
        std::size_t taken = 0;
        for (std::size_t end; (end = connection.partial.find("\r\n\r\n", taken)) != std::string::npos;
             taken = end + 4) {
            ++connection.due;
            due_.push_back({at, &connection});
        }
        connection.partial.erase(0, taken);
        if (connection.partial.size() > maxHead) close(connection);
    }

    void answer(Connection& connection) {
        --connection.due;
        if (connection.fd < 0) return releaseIfDone(connection);
        const ssize_t sent = ::send(connection.fd, answer_.data(), answer_.size(), MSG_NOSIGNAL);
        if (sent != static_cast<ssize_t>(answer_.size())) close(connection);  // the peer does not read or has closed
    }

    void close(Connection& connection) {
        ::close(connection.fd);
        connection.fd = -1;
        releaseIfDone(connection);
    }

    void releaseIfDone(Connection& connection) {
        if (connection.due > 0) return;
        connections_.erase(&connection);
        delete &connection;
    }

    void watch(int fd, void* who) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = who;
        if (epoll_ctl(epollFd_, EPOLL_CTL_ADD, fd, &event) < 0) die("epoll_ctl", errno);
    }

    std::int64_t think_;  // ns
    std::string answer_;
    std::deque<Due> due_;  // in order of time
    std::unordered_set<Connection*> connections_;
    int quitFd_ = -1;
    int epollFd_ = -1;
    int listenFd_ = -1;
    char buffer_[64 * 1024];
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--listen ADDR:PORT [--think-us 0] [--body TEXT]");
    const sockaddr_in address = endpointFlag(flags, "--listen");
    const std::int64_t think = flags.number("--think-us", 0, 0, 60'000'000) * 1000;
    const std::string body = flags.text("--body", "Hello, World!");
    flags.finish();
    Backend(address, think, body).run();
    return 0;
}
