#include <weft/transports/fs/whole_files.hpp>

#include <fcntl.h>

#include <weft/transports/fd.hpp>

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

}  // namespace

std::string readFile(const std::string& path, std::size_t limit, ErrorCode& error) {
    std::string bytes;
    onPool(error, [&](ErrorCode& failed) {
        const Fd fd(openFile(path, O_RDONLY, 0, failed));  // only read, so that the result of its close does not matter
        if (!failed) bytes = weft::detail::readToEnd(fd.get(), limit, failed);
    });
    return bytes;
}
std::string readFile(const std::string& path, std::size_t limit) {
    ErrorCode error;
    std::string bytes = readFile(path, limit, error);
    throwIfFailed(error, "readFile", path);
    return bytes;
}

void writeFile(const std::string& path, std::string_view bytes, mode_t permissions, ErrorCode& error) {
    onPool(error, [&](ErrorCode& failed) {
        const int fd = openFile(path, O_WRONLY | O_CREAT | O_TRUNC, permissions, failed);
        if (failed) return;
        failed = weft::detail::writeAllTo(fd, bytes).error;
        const ErrorCode closed = closeFile(fd);
        if (!failed) failed = closed;
    });
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
    onPool(error, [&](ErrorCode& failed) { failed = weft::detail::Replacement(path).write(bytes, permissions); });
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
