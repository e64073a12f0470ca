// SystemCalls: the only path by which Weft calls the kernel for sockets and epoll; tests put a hook in its place. It
// must know no channel, no fiber and no policy; it costs one comparison.
#pragma once

#include <cerrno>
#include <cstddef>
#include <ctime>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <weft/transports/detail/kernel_call.hpp>

namespace weft {

// What stands for the kernel in a test. Each function is called in place of that of SystemCalls, and with its contract.
class SystemCallHook {
  public:
    virtual ~SystemCallHook() = default;

    virtual int socket(int family, int type, int protocol) noexcept = 0;
    virtual int bind(int fd, const sockaddr* address, socklen_t size) noexcept = 0;
    virtual int listen(int fd, int backlog) noexcept = 0;
    virtual int accept4(int fd, sockaddr* address, socklen_t* size, int flags) noexcept = 0;
    virtual int connect(int fd, const sockaddr* address, socklen_t size) noexcept = 0;
    virtual ssize_t recv(int fd, void* into, std::size_t size) noexcept = 0;
    virtual ssize_t send(int fd, const void* from, std::size_t size) noexcept = 0;
    virtual ssize_t sendv(int fd, const iovec* parts, std::size_t count) noexcept = 0;
    virtual ssize_t write(int fd, const void* from, std::size_t size) noexcept = 0;
    virtual int shutdown(int fd, int how) noexcept = 0;
    virtual int close(int fd) noexcept = 0;
    virtual int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept = 0;
    virtual int getsockopt(int fd, int level, int name, void* value, socklen_t* size) noexcept = 0;
    virtual int getsockname(int fd, sockaddr* address, socklen_t* size) noexcept = 0;
    virtual int getpeername(int fd, sockaddr* address, socklen_t* size) noexcept = 0;
    virtual int epollCreate1(int flags) noexcept = 0;
    virtual int epollCtl(int epoll, int operation, int fd, epoll_event* event) noexcept = 0;
    virtual int epollPwait2(int epoll, epoll_event* events, int max, const timespec* timeout) noexcept = 0;
    virtual int epollWait(int epoll, epoll_event* events, int max, int milliseconds) noexcept = 0;
    virtual int poll(pollfd* descriptors, nfds_t count, int milliseconds) noexcept = 0;
};

// Each function is the system call of its name, with three differences. It returns the result or -errno, so that no
// errno has to survive a fiber switch. It repeats calls that a signal interrupted before they did anything, except the
// epoll waits, whose caller must recompute its timeout. Sends never raise SIGPIPE.
// Context: any thread. Never allocates or throws. Blocks only in the epoll waits, in poll() and on blocking
// descriptors.
class SystemCalls final {
  public:
    // `hook` gets every call. It must outlive this object.
    explicit SystemCalls(SystemCallHook& hook) noexcept : hook_(&hook) {}
    SystemCalls(const SystemCalls&) = delete;
    SystemCalls& operator=(const SystemCalls&) = delete;

    [[gnu::noinline]] int socket(int family, int type, int protocol) noexcept;
    [[gnu::noinline]] int bind(int fd, const sockaddr* address, socklen_t size) noexcept;
    [[gnu::noinline]] int listen(int fd, int backlog) noexcept;
    [[gnu::noinline]] int accept4(int fd, sockaddr* address, socklen_t* size, int flags) noexcept;
    // An interrupted connect continues in the background; this returns -EINPROGRESS for it.
    [[gnu::noinline]] int connect(int fd, const sockaddr* address, socklen_t size) noexcept;

    ssize_t recv(int fd, void* into, std::size_t size) noexcept {
        if (hook_ != nullptr) [[unlikely]]
            return hook_->recv(fd, into, size);
        ssize_t result = detail::kernelRecv(fd, into, size);
        while (result < 0 && result == -EINTR) result = detail::kernelRecv(fd, into, size);
        return result;
    }
    ssize_t send(int fd, const void* from, std::size_t size) noexcept {
        if (hook_ != nullptr) [[unlikely]]
            return hook_->send(fd, from, size);
        ssize_t result = detail::kernelSend(fd, from, size);
        while (result < 0 && result == -EINTR) result = detail::kernelSend(fd, from, size);
        return result;
    }
    [[gnu::noinline]] ssize_t sendv(int fd, const iovec* parts,
                                    std::size_t count) noexcept;                           // sendmsg; 1..IOV_MAX parts
    [[gnu::noinline]] ssize_t write(int fd, const void* from, std::size_t size) noexcept;  // for the wake-up descriptor
    [[gnu::noinline]] int shutdown(int fd, int how) noexcept;
    // Never repeated: Linux closes the descriptor whatever close() returns.
    [[gnu::noinline]] int close(int fd) noexcept;

    [[gnu::noinline]] int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept;
    [[gnu::noinline]] int getsockopt(int fd, int level, int name, void* value, socklen_t* size) noexcept;
    [[gnu::noinline]] int getsockname(int fd, sockaddr* address, socklen_t* size) noexcept;
    [[gnu::noinline]] int getpeername(int fd, sockaddr* address, socklen_t* size) noexcept;

    [[gnu::noinline]] int epollCreate1(int flags) noexcept;
    [[gnu::noinline]] int epollCtl(int epoll, int operation, int fd, epoll_event* event) noexcept;
    // A null timeout waits without a limit. -ENOSYS on kernels before 5.11.
    [[gnu::noinline]] int epollPwait2(int epoll, epoll_event* events, int max, const timespec* timeout) noexcept;
    [[gnu::noinline]] int epollWait(int epoll, epoll_event* events, int max, int milliseconds) noexcept;

    // Returns at once when `milliseconds` is 0.
    [[gnu::noinline]] int poll(pollfd* descriptors, nfds_t count, int milliseconds) noexcept;

    // The real kernel calls. Lives for the whole process.
    static SystemCalls& kernel() noexcept;

  private:
    constexpr SystemCalls() noexcept = default;

    SystemCallHook* const hook_ = nullptr;  // null: the kernel
};

}  // namespace weft
