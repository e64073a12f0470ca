#include <weft/scheduler/detail/log_output.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <exception>
#include <new>
#include <thread>

#include <weft/scheduler/detail/signals_blocked.hpp>

#include <poll.h>
#include <unistd.h>

namespace weft::detail {

namespace {

// A pipe that is ready takes as much as this at once.
constexpr std::size_t slice = PIPE_BUF;

bool isReady(int fd) noexcept {
    pollfd wanted{fd, POLLOUT, 0};
    return ::poll(&wanted, 1, 0) != 0;  // also with an error, which write() then returns
}

// Returns how much of `text` needs no further write: all of it after an error, which no log could report.
std::size_t writeSlice(int fd, std::string_view text) noexcept {
    const std::size_t most = std::min(text.size(), slice);
    for (;;) {
        const ssize_t written = ::write(fd, text.data(), most);
        if (written >= 0) return static_cast<std::size_t>(written);
        if (errno == EAGAIN) return 0;  // another user of the descriptor has made it non-blocking
        if (errno != EINTR) return text.size();
    }
}

void flushAtExit() noexcept {
    LogOutput::ofStderr().flush(LogOutput::atExit);
}

}  // namespace

void LogOutput::write(std::string_view lines) noexcept {
    const std::lock_guard held(lock_);
    leaveOutParent();
    if (dropped_ != 0) {
        std::array<char, 80> notice;
        char* end = std::to_chars(notice.data(), notice.data() + 20, dropped_).ptr;
        constexpr std::string_view rest = " log lines were dropped: their reader has stalled\n";
        end = std::copy(rest.begin(), rest.end(), end);
        if (put({notice.data(), static_cast<std::size_t>(end - notice.data())})) dropped_ = 0;
    }
    if (dropped_ != 0 || !put(lines)) ++dropped_;
}

// In a forked process: what waits is the parent's, and so is the thread.
void LogOutput::leaveOutParent() noexcept {
    if (writer_ == 0 || writer_ == ::getpid()) return;
    writer_ = 0;
    beingWritten_ = 0;
    waiting_.clear();
}

// False: there is no room.
bool LogOutput::put(std::string_view lines) noexcept {
    std::string_view left = lines;
    if (writer_ == 0) {
        while (!left.empty() && isReady(fd_)) {
            const std::size_t written = writeSlice(fd_, left);
            if (written == 0) break;
            left.remove_prefix(written);
        }
    }
    return left.empty() || keep(left, left.size() < lines.size());
}

// A line that has been `begun` is kept as a whole, whatever waits already.
bool LogOutput::keep(std::string_view lines, bool begun) noexcept {
    if (!begun && waiting_.size() + beingWritten_ + lines.size() > limit_) return false;
    try {
        waiting_.append(lines);
    } catch (const std::exception&) {
        return false;
    }
    if (writer_ != 0 || startWriter()) return true;
    waiting_.clear();
    return false;
}

bool LogOutput::startWriter() noexcept {
    try {
        static const bool registered = std::atexit(&flushAtExit) == 0;
        static_cast<void>(registered);
        const SignalsBlocked blocked;
        std::thread([this] { writeWaiting(); }).detach();
    } catch (const std::exception&) {
        return false;
    }
    writer_ = ::getpid();
    return true;
}

// The thread. Its caller holds the lock until it has noted that it runs.
void LogOutput::writeWaiting() noexcept {
    std::unique_lock held(lock_);
    std::string text;
    while (!waiting_.empty()) {
        text.clear();
        text.swap(waiting_);
        beingWritten_ = text.size();
        held.unlock();
        for (std::string_view left = text; !left.empty();) {
            pollfd wanted{fd_, POLLOUT, 0};
            ::poll(&wanted, 1, -1);
            left.remove_prefix(writeSlice(fd_, left));
        }
        held.lock();
        beingWritten_ = 0;
    }
    writer_ = 0;
    written_.notify_all();
}

bool LogOutput::flush(Duration time) noexcept {
    std::unique_lock held(lock_);
    leaveOutParent();
    return written_.wait_for(held, time, [this] { return writer_ == 0; });
}

std::uint64_t LogOutput::dropped() const noexcept {
    const std::lock_guard held(lock_);
    return dropped_;
}

LogOutput& LogOutput::ofStderr() noexcept {
    alignas(LogOutput) static constinit char place[sizeof(LogOutput)] = {};  // lines may be logged without memory
    static auto* const output = ::new (static_cast<void*>(place)) LogOutput(STDERR_FILENO);  // never destroyed
    return *output;
}

}  // namespace weft::detail
