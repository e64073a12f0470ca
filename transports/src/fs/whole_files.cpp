#include <weft/transports/fs/whole_files.hpp>

#include <fcntl.h>

#include "file_calls.hpp"
#include "on_pool.hpp"
#include "replacement.hpp"

namespace weft::fs {

using weft::detail::closeFile;
using weft::detail::onPool;
using weft::detail::openFile;

namespace {

void throwIfFailed(const ErrorCode& error, const char* call, const std::string& path) {
    if (error) weft::detail::throwFileError(error, call, path);
}

// Writes all and closes; returns the first error.
ErrorCode writeAndClose(int fd, std::string_view bytes) noexcept {
    const ErrorCode error = weft::detail::writeAllTo(fd, bytes).error;
    const ErrorCode closed = closeFile(fd);
    return error ? error : closed;
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
            return failed ? failed : writeAndClose(fd, bytes);
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
    onPool([&] { return weft::detail::Replacement(path).write(bytes, permissions); }, error);
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
