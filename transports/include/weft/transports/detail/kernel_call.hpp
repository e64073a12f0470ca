// kernelRecv() and kernelSend(): receive and send without the C library, whose handling of POSIX thread cancellation
// costs more than the rest of the call in user space. Sanitizers intercept the library's calls, so builds with them,
// and other platforms, use the library.
#pragma once

#include <cstddef>

#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__) || !defined(__LP64__)
#define WEFT_KERNEL_CALLS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define WEFT_KERNEL_CALLS 0
#else
#define WEFT_KERNEL_CALLS 1
#endif
#else
#define WEFT_KERNEL_CALLS 1
#endif

namespace weft::detail {

// All return the kernel's result: a count, or the error as a negative number. Those of the library are out of line, so
// that the optimiser cannot keep the address of errno in a caller across a fiber switch.
ssize_t libraryRecv(int fd, void* into, std::size_t size) noexcept;
ssize_t librarySend(int fd, const void* from, std::size_t size) noexcept;

#if WEFT_KERNEL_CALLS

inline ssize_t kernelTransfer(long number, int fd, const void* bytes, std::size_t size, int flags) noexcept {
    ssize_t result = 0;
    register long flagsRegister asm("r10") = flags;
    register long address asm("r8") = 0;
    register long addressSize asm("r9") = 0;
    asm volatile("syscall"
                 : "=a"(result)
                 : "0"(number), "D"(static_cast<long>(fd)), "S"(bytes), "d"(size), "r"(flagsRegister), "r"(address),
                   "r"(addressSize)
                 : "rcx", "r11", "memory");
    return result;
}
inline ssize_t kernelRecv(int fd, void* into, std::size_t size) noexcept {
    return kernelTransfer(SYS_recvfrom, fd, into, size, 0);
}
inline ssize_t kernelSend(int fd, const void* from, std::size_t size) noexcept {
    return kernelTransfer(SYS_sendto, fd, from, size, MSG_NOSIGNAL);
}

#else

inline ssize_t kernelRecv(int fd, void* into, std::size_t size) noexcept {
    return libraryRecv(fd, into, size);
}
inline ssize_t kernelSend(int fd, const void* from, std::size_t size) noexcept {
    return librarySend(fd, from, size);
}

#endif

}  // namespace weft::detail
