#include "file_calls.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::detail {

namespace {

constexpr std::size_t smallestRead = 4096;
constexpr std::size_t largestRead = 1024 * 1024;

// Calls `transfer(done)` until it has transferred `size` bytes, returns 0 or fails. Without a byte there is no call, so
// nothing but this function checks that the file is open.
template <class Transfer>
FileTransfer transferAll(int fd, std::size_t size, Transfer transfer) noexcept {
    FileTransfer all;
    if (fd < 0) all.error = fromErrno(EBADF);
    while (!all.error && all.bytes < size) {
        const ssize_t count = uninterruptedCall([&] { return transfer(all.bytes); }, all.error);
        if (count <= 0) break;
        all.bytes += static_cast<std::size_t>(count);
    }
    return all;
}

// False where the kernel's offset, which is signed, would not be that of the caller.
bool isOffset(std::uint64_t offset, std::size_t size) noexcept {
    constexpr auto last = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
    return offset <= last && size <= last - offset;
}

// How many bytes the file has after its position, as far as its size tells.
std::size_t expectedBytes(int fd) noexcept {
    struct ::stat info {};
    const off_t position = ::lseek(fd, 0, SEEK_CUR);
    if (position < 0 || ::fstat(fd, &info) != 0 || info.st_size <= position) return 0;
    return static_cast<std::size_t>(info.st_size - position);
}

}  // namespace

int openFile(const std::string& path, int flags, mode_t permissions, ErrorCode& error) noexcept {
    if (path.find('\0') != std::string::npos) {
        error = fromErrno(EINVAL);
        return -1;
    }
    return uninterruptedCall([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, permissions); }, error);
}

FileTransfer readSomeOf(int fd, std::span<char> into) noexcept {
    FileTransfer some;
    const ssize_t count = uninterruptedCall([&] { return ::read(fd, into.data(), into.size()); }, some.error);
    some.bytes = count > 0 ? static_cast<std::size_t>(count) : 0;
    return some;
}

FileTransfer readAllAt(int fd, std::uint64_t offset, std::span<char> into) noexcept {
    if (!isOffset(offset, into.size())) return {0, fromErrno(EINVAL)};
    return transferAll(fd, into.size(), [&](std::size_t done) {
        return ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    });
}

FileTransfer writeAllTo(int fd, std::string_view bytes) noexcept {
    return transferAll(fd, bytes.size(),
                       [&](std::size_t done) { return ::write(fd, bytes.data() + done, bytes.size() - done); });
}

FileTransfer writeAllAt(int fd, std::uint64_t offset, std::string_view bytes) noexcept {
    if (!isOffset(offset, bytes.size())) return {0, fromErrno(EINVAL)};
    return transferAll(fd, bytes.size(), [&](std::size_t done) {
        return ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    });
}

// The size is only a hint. That of files of /proc is 0, that of files of sysfs a whole page, that of a directory
// anything, and a file may grow meanwhile: only a read of 0 bytes is its end. One byte beyond the limit tells a file
// that is too large from one that has just the limit.
std::string readToEnd(int fd, std::size_t limit, ErrorCode& error) {
    std::string bytes;
    bytes.reserve(std::min(expectedBytes(fd), limit) + 1);
    for (std::size_t filled = 0;;) {
        const std::size_t rest = limit - filled;
        const std::size_t spare = std::max(bytes.capacity() - filled, smallestRead);
        const std::size_t wanted = std::min({rest, spare - 1, largestRead}) + 1;
        bytes.resize(filled + wanted);
        const FileTransfer some = readSomeOf(fd, {bytes.data() + filled, wanted});
        filled += some.bytes;
        error = filled > limit ? fromErrno(EFBIG) : some.error;
        if (!error && some.bytes > 0) continue;
        bytes.resize(error ? 0 : filled);
        return bytes;
    }
}

ErrorCode closeFile(int fd) noexcept {
    return ::close(fd) < 0 ? fromErrno(lastErrno()) : ErrorCode();
}

}  // namespace weft::detail
