#include "output_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::detail {

namespace {

namespace fs = std::filesystem;

bool isLink(const fs::path& path) {
    std::error_code ignored;
    return fs::is_symlink(fs::symlink_status(path, ignored));
}

// The descriptor of this process to which a chain of symbolic links leads, such as /dev/stderr; -1: to none.
int descriptorOf(fs::path path) {
    const fs::path descriptors = "/proc/" + std::to_string(::getpid()) + "/fd";
    std::error_code error;
    for (int links = 0; links < 40 && isLink(path); ++links) {  // as many as the kernel follows
        const fs::path directory = fs::canonical(fs::absolute(path, error).parent_path(), error);
        if (error) return -1;
        if (directory == descriptors) {
            const std::string name = path.filename().string();
            int descriptor = -1;
            std::from_chars(name.data(), name.data() + name.size(), descriptor);
            return descriptor;
        }
        path = directory / fs::read_symlink(path, error);
        if (error) return -1;
    }
    return -1;
}

mode_t typeOf(int descriptor) {
    struct stat file = {};
    return ::fstat(descriptor, &file) == 0 ? file.st_mode & S_IFMT : 0;
}

// A regular file that is opened again has a position of its own, and the next write at the old one would overwrite what
// was written there; a socket cannot be opened again.
int openExisting(const std::string& path) {
    const int descriptor = descriptorOf(path);
    const mode_t type = typeOf(descriptor);
    if (type == S_IFREG || type == S_IFSOCK) return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    const int existing = isLink(path) ? O_APPEND : O_TRUNC;
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | existing, 0666);
}

int openAnew(const std::string& path) {
    ::unlink(path.c_str());
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

}  // namespace

OutputFile::OutputFile(const std::string& path, const std::atomic<bool>& ends, Mode mode)
    : ends_(ends),
      fd_(mode == Mode::anew ? openAnew(path) : openExisting(path)),
      error_(fd_ < 0 ? errno : 0),
      isSocket_(typeOf(fd_) == S_IFSOCK) {
    setp(bytes_.data(), bytes_.data() + bytes_.size());
}

OutputFile::~OutputFile() {
    if (fd_ >= 0) ::close(fd_);
}

OutputFile::int_type OutputFile::overflow(int_type next) {
    if (!writeAll()) return traits_type::eof();
    if (!traits_type::eq_int_type(next, traits_type::eof())) sputc(traits_type::to_char_type(next));
    return traits_type::not_eof(next);
}

bool OutputFile::writeAll() noexcept {
    const char* next = pbase();
    while (error_ == 0 && next < pptr()) {
        const ssize_t written = writeSome(next, static_cast<std::size_t>(pptr() - next));
        if (written >= 0) {
            next += written;
        } else if (errno == EAGAIN) {
            awaitRoom();
        } else if (errno != EINTR) {
            error_ = errno;
        }
    }
    setp(bytes_.data(), bytes_.data() + bytes_.size());
    return error_ == 0;
}

// A socket blocks if the program's own descriptor does.
ssize_t OutputFile::writeSome(const char* bytes, std::size_t size) const noexcept {
    return isSocket_ ? ::send(fd_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) : ::write(fd_, bytes, size);
}

// Returns now and then to see whether the owner ends.
void OutputFile::awaitRoom() noexcept {
    using namespace std::chrono;
    constexpr milliseconds interval(20);
    const TimePoint full = Clock::steady().now() + patience;
    pollfd room = {.fd = fd_, .events = POLLOUT, .revents = 0};
    do {
        const TimePoint now = Clock::steady().now();
        if (ends_.load(std::memory_order_relaxed)) end_ = std::min(end_, now + patience);
        if (now >= std::min(full, end_)) error_ = ETIMEDOUT;
    } while (error_ == 0 && ::poll(&room, 1, static_cast<int>(interval.count())) <= 0);
}

}  // namespace weft::detail
