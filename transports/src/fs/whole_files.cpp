#include <weft/transports/fs/whole_files.hpp>

#include <atomic>
#include <cstdio>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_calls.hpp"
#include "on_pool.hpp"

namespace weft::fs {

using weft::detail::closeFile;
using weft::detail::onPool;
using weft::detail::openFile;
using weft::detail::uninterruptedCall;

namespace {

void throwIfFailed(const ErrorCode& error, const char* call, const std::string& path) {
    if (error) weft::detail::throwFileError(error, call, path);
}

// Writes all, with a sync if wanted, and closes; returns the first error.
ErrorCode writeAndClose(int fd, std::string_view bytes, bool sync) noexcept {
    ErrorCode error = weft::detail::writeAllTo(fd, bytes).error;
    if (!error && sync) static_cast<void>(uninterruptedCall([&] { return ::fsync(fd); }, error));
    const ErrorCode closed = closeFile(fd);
    return error ? error : closed;
}

// Unique among the processes and calls that may write to the directory now; open() detects what a former process left.
std::string nameBeside(const std::string& path) {
    static std::atomic<unsigned> number{0};
    const unsigned own = number.fetch_add(1, std::memory_order_relaxed);  // orders nothing; only the number counts
    return path + '.' + std::to_string(::getpid()) + '-' + std::to_string(own) + ".tmp";
}

// Opens a file that did not exist, and sets `name` to its path.
int openBeside(const std::string& path, mode_t permissions, std::string& name, ErrorCode& error) {
    constexpr int mostTries = 64;
    int fd = -1;
    for (int tries = 0; tries < mostTries; ++tries) {
        name = nameBeside(path);
        fd = openFile(name, O_WRONLY | O_CREAT | O_EXCL, permissions, error);
        if (error != fromErrno(EEXIST)) break;
    }
    return fd;
}

std::optional<mode_t> permissionsOf(const std::string& path) noexcept {
    struct ::stat former {};
    if (::stat(path.c_str(), &former) != 0) return std::nullopt;  // there is none; rename() reports other errors
    return former.st_mode & 07777;
}

ErrorCode setPermissions(int fd, mode_t permissions) noexcept {
    return ::fchmod(fd, permissions) != 0 ? fromErrno(lastErrno()) : ErrorCode();
}

// The rename is durable once the directory is.
ErrorCode syncDirectoryOf(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    ErrorCode error;
    const int fd = openFile(directory, O_RDONLY | O_DIRECTORY, 0, error);
    return error ? error : writeAndClose(fd, {}, true);
}

ErrorCode fillAndRename(const std::string& name, int fd, const std::string& path, std::string_view bytes,
                        std::optional<mode_t> permissions) noexcept {
    ErrorCode error = permissions ? setPermissions(fd, *permissions) : ErrorCode();
    const ErrorCode written = writeAndClose(fd, bytes, true);
    if (!error) error = written;
    if (!error && ::rename(name.c_str(), path.c_str()) != 0) error = fromErrno(lastErrno());
    if (error) ::unlink(name.c_str());
    return error;
}

ErrorCode replaceNow(const std::string& path, std::string_view bytes, mode_t permissions) {
    ErrorCode error;
    std::string name;
    const std::optional<mode_t> former = permissionsOf(path);
    // Never more than the former file permitted: a process that opens the new file before the
    // fchmod() could read it afterwards.
    const int fd = openBeside(path, permissions & former.value_or(permissions), name, error);
    if (!error) error = fillAndRename(name, fd, path, bytes, former);
    return error ? error : syncDirectoryOf(path);
}

}  // namespace

std::string readFile(const std::string& path, std::size_t limit, ErrorCode& error) {
    std::string bytes;
    onPool(
        [&] {
            ErrorCode failed;
            const int fd = openFile(path, O_RDONLY, 0, failed);
            if (failed) return failed;
            const weft::detail::ClosesFile closes(fd);
            bytes = weft::detail::readToEnd(fd, limit, failed);
            return failed;
        },
        error);
    return bytes;
}
std::string readFile(const std::string& path, std::size_t limit) {
    ErrorCode error;
    std::string bytes = readFile(path, limit, error);
    throwIfFailed(error, "readFile", path);
    return bytes;
}

void writeFile(const std::string& path, std::string_view bytes, mode_t permissions, ErrorCode& error) {
    onPool(
        [&] {
            ErrorCode failed;
            const int fd = openFile(path, O_WRONLY | O_CREAT | O_TRUNC, permissions, failed);
            return failed ? failed : writeAndClose(fd, bytes, false);
        },
        error);
}
void writeFile(const std::string& path, std::string_view bytes, mode_t permissions) {
    ErrorCode error;
    writeFile(path, bytes, permissions, error);
    throwIfFailed(error, "writeFile", path);
}
void writeFile(const std::string& path, std::string_view bytes, ErrorCode& error) {
    writeFile(path, bytes, 0666, error);
}

void replaceFile(const std::string& path, std::string_view bytes, mode_t permissions, ErrorCode& error) {
    onPool([&] { return replaceNow(path, bytes, permissions); }, error);
}
void replaceFile(const std::string& path, std::string_view bytes, mode_t permissions) {
    ErrorCode error;
    replaceFile(path, bytes, permissions, error);
    throwIfFailed(error, "replaceFile", path);
}
void replaceFile(const std::string& path, std::string_view bytes, ErrorCode& error) {
    replaceFile(path, bytes, 0666, error);
}

}  // namespace weft::fs
