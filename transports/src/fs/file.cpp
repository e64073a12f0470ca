// File: the two forms of each call, and where a call runs. file_calls.cpp has the system calls.
#include <weft/transports/fs/file.hpp>

#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/deadline.hpp>

#include "file_calls.hpp"
#include "on_pool.hpp"

namespace weft::fs {

using weft::detail::closeFile;
using weft::detail::FileTransfer;
using weft::detail::onPool;
using weft::detail::uninterruptedCall;

namespace {

int flagsOf(OpenMode mode) noexcept {
    switch (mode) {
        case OpenMode::readOnly: return O_RDONLY;
        case OpenMode::writeOnly: return O_WRONLY;
        case OpenMode::readWrite: return O_RDWR;
        case OpenMode::create: return O_RDWR | O_CREAT;
        case OpenMode::createNew: return O_RDWR | O_CREAT | O_EXCL;
        case OpenMode::truncate: return O_RDWR | O_CREAT | O_TRUNC;
        case OpenMode::append: return O_WRONLY | O_CREAT | O_APPEND;
    }
    return O_RDONLY;
}

FileKind kindOf(mode_t mode) noexcept {
    switch (mode & S_IFMT) {
        case S_IFREG: return FileKind::regular;
        case S_IFDIR: return FileKind::directory;
        case S_IFIFO: return FileKind::fifo;
        case S_IFSOCK: return FileKind::socket;
        case S_IFCHR: return FileKind::characterDevice;
        case S_IFBLK: return FileKind::blockDevice;
        default: return FileKind::other;
    }
}

FileInfo infoOf(const struct ::stat& info) noexcept {
    using namespace std::chrono;
    // The range of the clock is smaller than that of the kernel's seconds.
    const Deadline time =
        deadlineAfter(Deadline(saturated(seconds(info.st_mtim.tv_sec))), nanoseconds(info.st_mtim.tv_nsec));
    return {kindOf(info.st_mode), static_cast<std::uint64_t>(info.st_size), info.st_mode & 07777,
            system_clock::time_point(duration_cast<system_clock::duration>(time.time_since_epoch()))};
}

// A transfer on the pool.
template <class Transfer>
std::size_t transferOnPool(Transfer transfer, ErrorCode& error) {
    std::size_t bytes = 0;
    onPool(error, [&](ErrorCode& failed) {
        const FileTransfer done = transfer();
        bytes = done.bytes;
        failed = done.error;
    });
    return bytes;
}

// A system call without a result on the pool.
template <class Call>
void callOnPool(Call call, ErrorCode& error) {
    onPool(error, [&](ErrorCode& failed) { static_cast<void>(uninterruptedCall(call, failed)); });
}

// Does not wait. A pool that takes no more calls leaves the close to this thread: the descriptor must not leak.
void closeLater(int fd) noexcept {
    Carrier* const here = Carrier::current();
    if (here != nullptr) {
        try {
            return here->group().blockingPool().post([fd] { static_cast<void>(closeFile(fd)); });
        } catch (const std::exception&) {  // SystemError or bad_alloc
        }
    }
    static_cast<void>(closeFile(fd));
}

}  // namespace

File::File(int fd, std::string path) noexcept : fd_(fd), path_(std::move(path)) {}
File::File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
File& File::operator=(File&& other) noexcept {
    if (this == &other) return *this;
    if (isOpen()) closeLater(fd_);
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
    return *this;
}
File::~File() {
    if (isOpen()) closeLater(fd_);
}

void File::throwIf(const ErrorCode& error, const char* call) const {
    if (error) weft::detail::throwFileError(error, call, path_);
}

File File::open(std::string path, OpenMode mode, mode_t permissions, ErrorCode& error) {
    File file(-1, std::move(path));
    onPool(error, [&](ErrorCode& failed) {
        file.fd_ = weft::detail::openFile(file.path_, flagsOf(mode), permissions, failed);
    });
    return file;
}
File File::open(std::string path, OpenMode mode, mode_t permissions) {
    ErrorCode error;
    File file = open(std::move(path), mode, permissions, error);
    file.throwIf(error, "File::open");
    return file;
}

std::size_t File::read(std::span<char> into, ErrorCode& error) {
    return transferOnPool([&] { return weft::detail::readSomeOf(fd_, into); }, error);
}
std::size_t File::read(std::span<char> into) {
    ErrorCode error;
    const std::size_t count = read(into, error);
    throwIf(error, "File::read");
    return count;
}

std::size_t File::readAt(std::uint64_t offset, std::span<char> into, ErrorCode& error) {
    return transferOnPool([&] { return weft::detail::readAllAt(fd_, offset, into); }, error);
}
std::size_t File::readAt(std::uint64_t offset, std::span<char> into) {
    ErrorCode error;
    const std::size_t count = readAt(offset, into, error);
    throwIf(error, "File::readAt");
    return count;
}

std::string File::readAll(std::size_t limit, ErrorCode& error) {
    std::string bytes;
    onPool(error, [&](ErrorCode& failed) { bytes = weft::detail::readToEnd(fd_, limit, failed); });
    return bytes;
}
std::string File::readAll(std::size_t limit) {
    ErrorCode error;
    std::string bytes = readAll(limit, error);
    throwIf(error, "File::readAll");
    return bytes;
}

std::size_t File::write(std::string_view bytes, ErrorCode& error) {
    return transferOnPool([&] { return weft::detail::writeAllTo(fd_, bytes); }, error);
}
void File::write(std::string_view bytes) {
    ErrorCode error;
    write(bytes, error);
    throwIf(error, "File::write");
}

std::size_t File::writeAt(std::uint64_t offset, std::string_view bytes, ErrorCode& error) {
    return transferOnPool([&] { return weft::detail::writeAllAt(fd_, offset, bytes); }, error);
}
void File::writeAt(std::uint64_t offset, std::string_view bytes) {
    ErrorCode error;
    writeAt(offset, bytes, error);
    throwIf(error, "File::writeAt");
}

void File::sync(ErrorCode& error) {
    callOnPool([this] { return ::fsync(fd_); }, error);
}
void File::sync() {
    ErrorCode error;
    sync(error);
    throwIf(error, "File::sync");
}
void File::syncData(ErrorCode& error) {
    callOnPool([this] { return ::fdatasync(fd_); }, error);
}
void File::syncData() {
    ErrorCode error;
    syncData(error);
    throwIf(error, "File::syncData");
}

FileInfo File::stat(ErrorCode& error) const {
    struct ::stat info {};
    callOnPool([&] { return ::fstat(fd_, &info); }, error);
    return error ? FileInfo() : infoOf(info);
}
FileInfo File::stat() const {
    ErrorCode error;
    const FileInfo info = stat(error);
    throwIf(error, "File::stat");
    return info;
}

void File::setSize(std::uint64_t size, ErrorCode& error) {
    callOnPool([&] { return ::ftruncate(fd_, static_cast<off_t>(size)); }, error);
}
void File::setSize(std::uint64_t size) {
    ErrorCode error;
    setSize(size, error);
    throwIf(error, "File::setSize");
}

void File::seek(std::uint64_t position, ErrorCode& error) {
    callOnPool([&] { return ::lseek(fd_, static_cast<off_t>(position), SEEK_SET); }, error);
}
void File::seek(std::uint64_t position) {
    ErrorCode error;
    seek(position, error);
    throwIf(error, "File::seek");
}

void File::close(ErrorCode& error) {
    error = {};
    if (!isOpen()) return;
    bool closed = false;
    onPool(error, [&](ErrorCode& failed) {
        closed = true;
        failed = closeFile(fd_);
    });
    const int fd = std::exchange(fd_, -1);
    if (!closed) closeLater(fd);
}
void File::close() {
    ErrorCode error;
    close(error);
    throwIf(error, "File::close");
}

}  // namespace weft::fs
