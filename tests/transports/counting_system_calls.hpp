// CountingSystemCalls: the real kernel, with counters and with failures that a test can request.
#pragma once

#include <atomic>
#include <cerrno>

#include <weft/transports/system_calls.hpp>

namespace weft::test {

class CountingSystemCalls : public SystemCallHook {
  public:
    operator SystemCalls&() noexcept { return calls_; }

    std::atomic<int> recvs{0}, sends{0}, epollCtls{0}, waits{0};
    std::atomic<bool> withoutPwait2{false};
    std::atomic<int> acceptError{0};            // errno for every accept4, 0: none
    std::atomic<bool> interruptedWaits{false};  // every other wait ends with EINTR
    std::atomic<bool> endlessInput{false};      // every recv finds as many bytes as it has room for
    std::atomic<bool> connectsToItself{false};  // a connect uses the port that it goes to, where that is free

    int socket(int family, int type, int protocol) noexcept override { return kernel_.socket(family, type, protocol); }
    int bind(int fd, const sockaddr* address, socklen_t size) noexcept override {
        return kernel_.bind(fd, address, size);
    }
    int listen(int fd, int backlog) noexcept override { return kernel_.listen(fd, backlog); }
    int accept4(int fd, sockaddr* address, socklen_t* size, int flags) noexcept override {
        const int error = acceptError;
        return error ? -error : kernel_.accept4(fd, address, size, flags);
    }
    int connect(int fd, const sockaddr* address, socklen_t size) noexcept override {
        if (connectsToItself) kernel_.bind(fd, address, size);
        return kernel_.connect(fd, address, size);
    }
    ssize_t recv(int fd, void* into, std::size_t size) noexcept override {
        ++recvs;
        return endlessInput ? static_cast<ssize_t>(size) : kernel_.recv(fd, into, size);
    }
    ssize_t send(int fd, const void* from, std::size_t size) noexcept override {
        return ++sends, kernel_.send(fd, from, size);
    }
    ssize_t sendv(int fd, const iovec* parts, std::size_t count) noexcept override {
        return ++sends, kernel_.sendv(fd, parts, count);
    }
    ssize_t write(int fd, const void* from, std::size_t size) noexcept override {
        return kernel_.write(fd, from, size);
    }
    int shutdown(int fd, int how) noexcept override { return kernel_.shutdown(fd, how); }
    int close(int fd) noexcept override { return kernel_.close(fd); }
    int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept override {
        return kernel_.setsockopt(fd, level, name, value, size);
    }
    int getsockopt(int fd, int level, int name, void* value, socklen_t* size) noexcept override {
        return kernel_.getsockopt(fd, level, name, value, size);
    }
    int getsockname(int fd, sockaddr* address, socklen_t* size) noexcept override {
        return kernel_.getsockname(fd, address, size);
    }
    int getpeername(int fd, sockaddr* address, socklen_t* size) noexcept override {
        return kernel_.getpeername(fd, address, size);
    }
    int epollCreate1(int flags) noexcept override { return kernel_.epollCreate1(flags); }
    int epollCtl(int epoll, int operation, int fd, epoll_event* event) noexcept override {
        return ++epollCtls, kernel_.epollCtl(epoll, operation, fd, event);
    }
    int epollPwait2(int epoll, epoll_event* events, int max, const timespec* timeout) noexcept override {
        if (withoutPwait2) return -ENOSYS;
        return interrupted() ? -EINTR : kernel_.epollPwait2(epoll, events, max, timeout);
    }
    int epollWait(int epoll, epoll_event* events, int max, int milliseconds) noexcept override {
        return interrupted() ? -EINTR : kernel_.epollWait(epoll, events, max, milliseconds);
    }
    int poll(pollfd* descriptors, nfds_t count, int milliseconds) noexcept override {
        return kernel_.poll(descriptors, count, milliseconds);
    }

  private:
    bool interrupted() noexcept { return ++waits % 2 == 0 && interruptedWaits; }

    SystemCalls& kernel_ = SystemCalls::kernel();
    SystemCalls calls_{*this};
};

}  // namespace weft::test
