// File: a file that fibers read and write with plain blocking calls. The calls run on the blocking pool of the fiber's
// carrier group, so the carrier never waits for a disk.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include <weft/scheduler/errors.hpp>

namespace weft::fs {

// What File::open() does with the path, and what the File may do.
enum class OpenMode : unsigned char {
    readOnly,   // the file must exist
    writeOnly,  // the file must exist
    readWrite,  // the file must exist
    create,     // reads and writes; creates the file if it does not exist, keeps its bytes if it does
    createNew,  // reads and writes; EEXIST if the path exists
    truncate,   // reads and writes; creates the file, or removes its bytes
    append,     // writes; creates the file if it does not exist; each write goes to the end of the file
};

enum class FileKind : unsigned char { regular, directory, fifo, socket, characterDevice, blockDevice, other };

struct FileInfo {
    FileKind kind = FileKind::other;
    std::uint64_t size = 0;                            // bytes
    mode_t permissions = 0;                            // 0 to 07777
    std::chrono::system_clock::time_point modified{};  // clamped to the years 1678 to 2261
};

// Move-only. Context: fibers of any carrier, and plain threads, which call the kernel directly. read(), write() and
// seek() share the file's position, so one fiber at a time may be in them; any number may be in readAt(), writeAt(),
// sync(), syncData() and stat() together. None may be in a call when the file is closed, moved or destroyed.
// Blocks the fiber only. While a call runs, a thread of the pool uses the caller's bytes, so neither a cancellation nor
// a shutdown ends it: the fiber's next wait reports them. A call that no thread has begun fails with operation_aborted
// and has done nothing. Throws BlockingOperationException where nothing may block; std::bad_alloc. All other failures
// are ErrorCodes: the overload with `error` last sets it (and clears it on success), the other one throws SystemError,
// which names the call, the path and the reason. They are: EAGAIN when the pool is full (see
// CarrierOptions::blockingThreads); EBADF when the file is closed; otherwise the kernel's error.
class File {
  public:
    // `permissions`: of a file that is created, without the bits of the process's umask. EINVAL for a path that
    // contains a zero byte. The descriptor is closed in a program that the process starts (O_CLOEXEC).
    static File open(std::string path, OpenMode mode = OpenMode::readOnly, mode_t permissions = 0666);
    static File open(std::string path, ErrorCode& error) { return open(std::move(path), OpenMode::readOnly, error); }
    static File open(std::string path, OpenMode mode, ErrorCode& error) {
        return open(std::move(path), mode, 0666, error);
    }
    static File open(std::string path, OpenMode mode, mode_t permissions, ErrorCode& error);

    File() noexcept = default;  // closed
    File(File&& other) noexcept;
    File& operator=(File&& other) noexcept;
    // Closes the file. On a carrier the pool does so, and the destructor does not wait: an error of the close is lost,
    // and the descriptor is in use for some time after. Call close() to learn the error.
    ~File();

    // Reads at the position and advances it. Returns once it has read at least one byte. 0: the end of the file (or
    // `into` is empty).
    std::size_t read(std::span<char> into);
    std::size_t read(std::span<char> into, ErrorCode& error);
    // Reads from `offset`. Fewer bytes than `into` has: the file ends there. The overload with `error` returns how many
    // bytes it read before the error.
    std::size_t readAt(std::uint64_t offset, std::span<char> into);
    std::size_t readAt(std::uint64_t offset, std::span<char> into, ErrorCode& error);
    // Reads from the position to the end. EFBIG if these are more than `limit` bytes: the position is then undefined.
    std::string readAll(std::size_t limit);
    std::string readAll(std::size_t limit, ErrorCode& error);

    // Writes all bytes at the position and advances it. The overload with `error` returns how many bytes the kernel
    // took before the error. Writing to a FIFO without a reader fails with EPIPE. On a plain thread the kernel sends
    // SIGPIPE first, which ends the process unless the program ignores it; the threads of the pool block that signal.
    void write(std::string_view bytes);
    std::size_t write(std::string_view bytes, ErrorCode& error);
    // Writes all bytes from `offset`. OpenMode::append ignores `offset`.
    void writeAt(std::uint64_t offset, std::string_view bytes);
    std::size_t writeAt(std::uint64_t offset, std::string_view bytes, ErrorCode& error);

    // Return when the disk has all that was written: the bytes and all metadata, or the bytes and the size.
    void sync();
    void sync(ErrorCode& error);
    void syncData();
    void syncData(ErrorCode& error);

    FileInfo stat() const;
    FileInfo stat(ErrorCode& error) const;
    // Removes the bytes beyond `size`, or adds zero bytes.
    void setSize(std::uint64_t size);
    void setSize(std::uint64_t size, ErrorCode& error);
    // Sets the position, in bytes from the start.
    void seek(std::uint64_t position);
    void seek(std::uint64_t position, ErrorCode& error);

    // Closes the file, whatever the error: a file system over a network may report here that it could not write. If the
    // call fails with operation_aborted or EAGAIN, the pool or this thread closes the file nevertheless. Idempotent.
    void close();
    void close(ErrorCode& error);
    bool isOpen() const noexcept { return fd_ >= 0; }
    // The path as it was given to open().
    const std::string& path() const noexcept { return path_; }

  private:
    File(int fd, std::string path) noexcept;
    void throwIf(const ErrorCode& error, const char* call) const;

    int fd_ = -1;
    std::string path_;
};

}  // namespace weft::fs
