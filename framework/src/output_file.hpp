// OutputFile: the stream buffer of a file or pipe whose reader may be missing or slow. Private to the framework.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <streambuf>
#include <string>

#include <sys/types.h>

#include <weft/scheduler/clock.hpp>

namespace weft::detail {

class OutputFile final : public std::streambuf {
  public:
    // How long a pipe may be full: before each write, and in all once `ends` is true.
    static constexpr Duration patience = std::chrono::seconds(1);

    enum class Mode : bool {
        existing,  // creates the file, or truncates it
        anew,      // removes what has this name and creates the file: a link that somebody planted is not followed
    };

    // Does not wait for a reader: a pipe without one is the error ENXIO. An existing symbolic link is followed, and the
    // file to which it leads is appended to; a descriptor of this process, as /dev/stderr, that is a regular file or a
    // socket is written to itself. Throws std::bad_alloc.
    OutputFile(const std::string& path, const std::atomic<bool>& ends, Mode mode = Mode::existing);
    ~OutputFile() override;
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    // Of the first call that failed; ETIMEDOUT: a pipe was full for too long; 0: none.
    int error() const noexcept { return error_; }

  private:
    int_type overflow(int_type next) override;
    int sync() override { return writeAll() ? 0 : -1; }
    bool writeAll() noexcept;
    ssize_t writeSome(const char* bytes, std::size_t size) const noexcept;
    void awaitRoom() noexcept;

    const std::atomic<bool>& ends_;
    const int fd_;
    int error_;  // begins as the errno of the open call, so it precedes isSocket_
    const bool isSocket_;
    TimePoint end_ = TimePoint::max();
    std::array<char, 8192> bytes_;
};

}  // namespace weft::detail
