// The real implementation of SystemCalls. Only this file of the room reads errno: each function turns it into its
// result before any other code can run on the thread.
#include <weft/transports/system_calls.hpp>

#include <cerrno>

#include <unistd.h>

#include "kernel_call.hpp"

namespace weft {

namespace {

template <class Result>
Result orErrno(Result result) noexcept {
    return result < 0 ? static_cast<Result>(-errno) : result;
}

// Repeats a call that a signal interrupted before it did anything.
template <class Call>
auto uninterrupted(Call call) noexcept {
    for (;;) {
        auto result = orErrno(call());
        if (result != -EINTR) return result;
    }
}

// Every member is noinline, so that the optimiser cannot keep the address of errno in a caller across a fiber switch.
class KernelSystemCalls final : public SystemCalls {
  public:
    [[gnu::noinline]] int socket(int family, int type, int protocol) noexcept override {
        return orErrno(::socket(family, type, protocol));
    }
    [[gnu::noinline]] int bind(int fd, const sockaddr* address, socklen_t size) noexcept override {
        return orErrno(::bind(fd, address, size));
    }
    [[gnu::noinline]] int listen(int fd, int backlog) noexcept override { return orErrno(::listen(fd, backlog)); }
    [[gnu::noinline]] int accept4(int fd, sockaddr* address, socklen_t* size, int flags) noexcept override {
        return uninterrupted([=] { return ::accept4(fd, address, size, flags); });
    }
    [[gnu::noinline]] int connect(int fd, const sockaddr* address, socklen_t size) noexcept override {
        const int result = orErrno(::connect(fd, address, size));
        return result == -EINTR ? -EINPROGRESS : result;
    }
    [[gnu::noinline]] ssize_t recv(int fd, void* into, std::size_t size) noexcept override {
        ssize_t result = detail::kernelRecv(fd, into, size);
        while (result == -EINTR) [[unlikely]] result = detail::kernelRecv(fd, into, size);
        return result;
    }
    [[gnu::noinline]] ssize_t send(int fd, const void* from, std::size_t size) noexcept override {
        ssize_t result = detail::kernelSend(fd, from, size);
        while (result == -EINTR) [[unlikely]] result = detail::kernelSend(fd, from, size);
        return result;
    }
    [[gnu::noinline]] ssize_t sendv(int fd, const iovec* parts, std::size_t count) noexcept override {
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(parts);
        message.msg_iovlen = count;
        return uninterrupted([fd, &message] { return ::sendmsg(fd, &message, MSG_NOSIGNAL); });
    }
    [[gnu::noinline]] ssize_t write(int fd, const void* from, std::size_t size) noexcept override {
        return uninterrupted([=] { return ::write(fd, from, size); });
    }
    [[gnu::noinline]] int shutdown(int fd, int how) noexcept override { return orErrno(::shutdown(fd, how)); }
    [[gnu::noinline]] int close(int fd) noexcept override { return orErrno(::close(fd)); }

    [[gnu::noinline]] int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept override {
        return orErrno(::setsockopt(fd, level, name, value, size));
    }
    [[gnu::noinline]] int getsockopt(int fd, int level, int name, void* value, socklen_t* size) noexcept override {
        return orErrno(::getsockopt(fd, level, name, value, size));
    }
    [[gnu::noinline]] int getsockname(int fd, sockaddr* address, socklen_t* size) noexcept override {
        return orErrno(::getsockname(fd, address, size));
    }
    [[gnu::noinline]] int getpeername(int fd, sockaddr* address, socklen_t* size) noexcept override {
        return orErrno(::getpeername(fd, address, size));
    }

    [[gnu::noinline]] int epollCreate1(int flags) noexcept override { return orErrno(::epoll_create1(flags)); }
    [[gnu::noinline]] int epollCtl(int epoll, int operation, int fd, epoll_event* event) noexcept override {
        return orErrno(::epoll_ctl(epoll, operation, fd, event));
    }
    [[gnu::noinline]] int epollPwait2(int epoll, epoll_event* events, int max,
                                      const timespec* timeout) noexcept override {
        return orErrno(::epoll_pwait2(epoll, events, max, timeout, nullptr));
    }
    [[gnu::noinline]] int epollWait(int epoll, epoll_event* events, int max, int milliseconds) noexcept override {
        return orErrno(::epoll_wait(epoll, events, max, milliseconds));
    }
    [[gnu::noinline]] int poll(pollfd* descriptors, nfds_t count, int milliseconds) noexcept override {
        return uninterrupted([=] { return ::poll(descriptors, count, milliseconds); });
    }
};

}  // namespace

SystemCalls& SystemCalls::kernel() noexcept {
    static KernelSystemCalls calls;
    return calls;
}

}  // namespace weft
