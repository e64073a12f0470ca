// The system calls on files. All but closeFile() repeat a call that a signal interrupted; those of All and readToEnd()
// loop over partial transfers. They block their thread, and know neither fibers nor the pool.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// `bytes` were transferred before `error`.
struct FileTransfer {
    std::size_t bytes = 0;
    ErrorCode error;
};

// Calls `call()` until it is not interrupted; returns its result or -1, with `error` set.
template <class Call>
auto uninterruptedCall(Call call, ErrorCode& error) noexcept {
    auto result = call();
    while (result < 0 && lastErrno() == EINTR) result = call();
    error = result < 0 ? fromErrno(lastErrno()) : ErrorCode();
    return result;
}

// Returns the descriptor, close-on-exec, or -1 with `error` set.
int openFile(const std::string& path, int flags, mode_t permissions, ErrorCode& error) noexcept;
FileTransfer readSomeOf(int fd, std::span<char> into) noexcept;
FileTransfer readAllAt(int fd, std::uint64_t offset, std::span<char> into) noexcept;
FileTransfer writeAllTo(int fd, std::string_view bytes) noexcept;
FileTransfer writeAllAt(int fd, std::uint64_t offset, std::string_view bytes) noexcept;
// From the position to the end; EFBIG beyond `limit` bytes. Throws std::bad_alloc.
std::string readToEnd(int fd, std::size_t limit, ErrorCode& error);
// The descriptor is closed, whatever the result.
ErrorCode closeFile(int fd) noexcept;

}  // namespace weft::detail
