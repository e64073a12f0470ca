// SystemCalls: the only path by which Weft calls the kernel for sockets and epoll; tests replace it with a script. It
// must know no channel, no fiber and no policy; it costs one indirect call.
#pragma once

#include <cstddef>
#include <ctime>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace weft {

// Each function is the system call of its name, with three differences. It returns the result or -errno, so that no
// errno has to survive a fiber switch. It repeats calls that a signal interrupted before they did anything, except the
// epoll waits, whose caller must recompute its timeout. Sends never raise SIGPIPE.
// Context: any thread. Never allocates or throws. Blocks only in the epoll waits, in poll() and on blocking
// descriptors.
class SystemCalls {
  public:
    virtual ~SystemCalls() = default;

    virtual int socket(int family, int type, int protocol) noexcept = 0;
    virtual int bind(int fd, const sockaddr* address, socklen_t size) noexcept = 0;
    virtual int listen(int fd, int backlog) noexcept = 0;
    virtual int accept4(int fd, sockaddr* address, socklen_t* size, int flags) noexcept = 0;
    // An interrupted connect continues in the background; this returns -EINPROGRESS for it.
    virtual int connect(int fd, const sockaddr* address, socklen_t size) noexcept = 0;

    virtual ssize_t recv(int fd, void* into, std::size_t size) noexcept = 0;
    virtual ssize_t send(int fd, const void* from, std::size_t size) noexcept = 0;
    virtual ssize_t sendv(int fd, const iovec* parts, std::size_t count) noexcept = 0;  // sendmsg; 1..IOV_MAX parts
    virtual ssize_t write(int fd, const void* from, std::size_t size) noexcept = 0;     // for the wake-up descriptor
    virtual int shutdown(int fd, int how) noexcept = 0;
    // Never repeated: Linux closes the descriptor whatever close() returns.
    virtual int close(int fd) noexcept = 0;

    virtual int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept = 0;
    virtual int getsockopt(int fd, int level, int name, void* value, socklen_t* size) noexcept = 0;
    virtual int getsockname(int fd, sockaddr* address, socklen_t* size) noexcept = 0;
    virtual int getpeername(int fd, sockaddr* address, socklen_t* size) noexcept = 0;

    virtual int epollCreate1(int flags) noexcept = 0;
    virtual int epollCtl(int epoll, int operation, int fd, epoll_event* event) noexcept = 0;
    // A null timeout waits without a limit. -ENOSYS on kernels before 5.11.
    virtual int epollPwait2(int epoll, epoll_event* events, int max, const timespec* timeout) noexcept = 0;
    virtual int epollWait(int epoll, epoll_event* events, int max, int milliseconds) noexcept = 0;

    // Returns at once when `milliseconds` is 0.
    virtual int poll(pollfd* descriptors, nfds_t count, int milliseconds) noexcept = 0;

    // The real kernel calls. Lives for the whole process.
    static SystemCalls& kernel() noexcept;
};

}  // namespace weft
