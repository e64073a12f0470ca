// SystemCalls: the one place where this project talks to the kernel about sockets and epoll. Tests put a script in its
// stead. It must know no channel, no fiber and no policy; its cost is one indirect call.
#pragma once

#include <cstddef>
#include <ctime>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace weft {

// Each function is the system call of its name, with these differences: it returns the result or, at once, -errno (so
// that no errno survives a fiber switch); calls that a signal interrupted before they did anything are repeated, except
// the epoll waits, whose caller must look at its deadline again. Sends never raise SIGPIPE.
// Context: any thread. Never allocates or throws; blocks only in the epoll waits, in poll() and where the descriptor blocks.
class SystemCalls {
  public:
    virtual ~SystemCalls() = default;

    virtual int socket(int family, int type, int protocol) noexcept = 0;
    virtual int bind(int fd, const sockaddr* address, socklen_t size) noexcept = 0;
    virtual int listen(int fd, int backlog) noexcept = 0;
    virtual int accept4(int fd, sockaddr* address, socklen_t* size, int flags) noexcept = 0;
    // An interrupted connect goes on in the background and is reported as -EINPROGRESS.
    virtual int connect(int fd, const sockaddr* address, socklen_t size) noexcept = 0;

    virtual ssize_t recv(int fd, void* into, std::size_t size) noexcept = 0;
    virtual ssize_t send(int fd, const void* from, std::size_t size) noexcept = 0;
    virtual ssize_t sendv(int fd, const iovec* parts, std::size_t count) noexcept = 0;  // sendmsg; 1..IOV_MAX parts
    virtual ssize_t write(int fd, const void* from, std::size_t size) noexcept = 0;     // for the wake-up descriptor
    virtual int shutdown(int fd, int how) noexcept = 0;
    // Never repeated: on Linux the descriptor is gone whatever close() says.
    virtual int close(int fd) noexcept = 0;

    virtual int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept = 0;
    virtual int getsockopt(int fd, int level, int name, void* value, socklen_t* size) noexcept = 0;
    virtual int getsockname(int fd, sockaddr* address, socklen_t* size) noexcept = 0;
    virtual int getpeername(int fd, sockaddr* address, socklen_t* size) noexcept = 0;

    virtual int epollCreate1(int flags) noexcept = 0;
    virtual int epollCtl(int epoll, int operation, int fd, epoll_event* event) noexcept = 0;
    // A null timeout waits for ever. -ENOSYS on kernels before 5.11.
    virtual int epollPwait2(int epoll, epoll_event* events, int max, const timespec* timeout) noexcept = 0;
    virtual int epollWait(int epoll, epoll_event* events, int max, int milliseconds) noexcept = 0;

    // Does not wait when `milliseconds` is 0.
    virtual int poll(pollfd* descriptors, nfds_t count, int milliseconds) noexcept = 0;

    // The real thing; lives for the whole process.
    static SystemCalls& kernel() noexcept;
};

}  // namespace weft
