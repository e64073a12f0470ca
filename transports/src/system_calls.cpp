// The real implementation of SystemCalls. Only this file of the room reads errno: each function turns it into its
// result before any other code can run on the thread.
#include <weft/transports/system_calls.hpp>

#include <cerrno>

#include <unistd.h>

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

}  // namespace

// For builds whose receives and sends must go through the library: kernel_call.hpp.
ssize_t detail::libraryRecv(int fd, void* into, std::size_t size) noexcept {
    return orErrno(::recv(fd, into, size, 0));
}
ssize_t detail::librarySend(int fd, const void* from, std::size_t size) noexcept {
    return orErrno(::send(fd, from, size, MSG_NOSIGNAL));
}

// The members are noinline, so that the optimiser cannot keep the address of errno in a caller across a fiber switch.

int SystemCalls::socket(int family, int type, int protocol) noexcept {
    return hook_ ? hook_->socket(family, type, protocol) : orErrno(::socket(family, type, protocol));
}
int SystemCalls::bind(int fd, const sockaddr* address, socklen_t size) noexcept {
    return hook_ ? hook_->bind(fd, address, size) : orErrno(::bind(fd, address, size));
}
int SystemCalls::listen(int fd, int backlog) noexcept {
    return hook_ ? hook_->listen(fd, backlog) : orErrno(::listen(fd, backlog));
}
int SystemCalls::accept4(int fd, sockaddr* address, socklen_t* size, int flags) noexcept {
    if (hook_ != nullptr) return hook_->accept4(fd, address, size, flags);
    return uninterrupted([=] { return ::accept4(fd, address, size, flags); });
}
int SystemCalls::connect(int fd, const sockaddr* address, socklen_t size) noexcept {
    if (hook_ != nullptr) return hook_->connect(fd, address, size);
    const int result = orErrno(::connect(fd, address, size));
    return result == -EINTR ? -EINPROGRESS : result;
}
ssize_t SystemCalls::sendv(int fd, const iovec* parts, std::size_t count) noexcept {
    if (hook_ != nullptr) return hook_->sendv(fd, parts, count);
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = count;
    return uninterrupted([fd, &message] { return ::sendmsg(fd, &message, MSG_NOSIGNAL); });
}
ssize_t SystemCalls::write(int fd, const void* from, std::size_t size) noexcept {
    if (hook_ != nullptr) return hook_->write(fd, from, size);
    return uninterrupted([=] { return ::write(fd, from, size); });
}
int SystemCalls::shutdown(int fd, int how) noexcept {
    return hook_ ? hook_->shutdown(fd, how) : orErrno(::shutdown(fd, how));
}
int SystemCalls::close(int fd) noexcept {
    return hook_ ? hook_->close(fd) : orErrno(::close(fd));
}
int SystemCalls::setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept {
    return hook_ ? hook_->setsockopt(fd, level, name, value, size)
                 : orErrno(::setsockopt(fd, level, name, value, size));
}
int SystemCalls::getsockopt(int fd, int level, int name, void* value, socklen_t* size) noexcept {
    return hook_ ? hook_->getsockopt(fd, level, name, value, size)
                 : orErrno(::getsockopt(fd, level, name, value, size));
}
int SystemCalls::getsockname(int fd, sockaddr* address, socklen_t* size) noexcept {
    return hook_ ? hook_->getsockname(fd, address, size) : orErrno(::getsockname(fd, address, size));
}
int SystemCalls::getpeername(int fd, sockaddr* address, socklen_t* size) noexcept {
    return hook_ ? hook_->getpeername(fd, address, size) : orErrno(::getpeername(fd, address, size));
}
int SystemCalls::epollCreate1(int flags) noexcept {
    return hook_ ? hook_->epollCreate1(flags) : orErrno(::epoll_create1(flags));
}
int SystemCalls::epollCtl(int epoll, int operation, int fd, epoll_event* event) noexcept {
    return hook_ ? hook_->epollCtl(epoll, operation, fd, event) : orErrno(::epoll_ctl(epoll, operation, fd, event));
}
int SystemCalls::epollPwait2(int epoll, epoll_event* events, int max, const timespec* timeout) noexcept {
    return hook_ ? hook_->epollPwait2(epoll, events, max, timeout)
                 : orErrno(::epoll_pwait2(epoll, events, max, timeout, nullptr));
}
int SystemCalls::epollWait(int epoll, epoll_event* events, int max, int milliseconds) noexcept {
    return hook_ ? hook_->epollWait(epoll, events, max, milliseconds)
                 : orErrno(::epoll_wait(epoll, events, max, milliseconds));
}
int SystemCalls::poll(pollfd* descriptors, nfds_t count, int milliseconds) noexcept {
    if (hook_ != nullptr) return hook_->poll(descriptors, count, milliseconds);
    return uninterrupted([=] { return ::poll(descriptors, count, milliseconds); });
}

SystemCalls& SystemCalls::kernel() noexcept {
    static constinit SystemCalls calls;
    return calls;
}

}  // namespace weft
