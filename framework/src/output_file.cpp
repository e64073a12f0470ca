#include "output_file.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace weft::detail {

OutputFile::OutputFile(const std::string& path, const std::atomic<bool>& ends) noexcept
    : ends_(ends),
      fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666)),
      error_(fd_ < 0 ? errno : 0) {
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

int OutputFile::sync() {
    return writeAll() ? 0 : -1;
}

bool OutputFile::writeAll() noexcept {
    const char* next = pbase();
    while (error_ == 0 && next < pptr()) {
        const ssize_t written = ::write(fd_, next, static_cast<std::size_t>(pptr() - next));
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
