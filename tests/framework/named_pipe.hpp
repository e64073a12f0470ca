// NamedPipe: a pipe with a path, as small as the system permits.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::test {

class NamedPipe {
  public:
    NamedPipe()
        : path_((std::filesystem::temp_directory_path() / ("weft-pipe-" + std::to_string(::getpid()))).string()) {
        if (::mkfifo(path_.c_str(), 0600) != 0) ADD_FAILURE() << path_;
    }
    ~NamedPipe() {
        if (reader_ >= 0) ::close(reader_);
        std::filesystem::remove(path_);
    }
    NamedPipe(const NamedPipe&) = delete;
    NamedPipe& operator=(const NamedPipe&) = delete;

    const std::string& path() const { return path_; }
    // Returns a descriptor that does not block. Once.
    int openReader() {
        reader_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        EXPECT_GE(::fcntl(reader_, F_SETPIPE_SZ, smallest), 0);
        return reader_;
    }

    static constexpr int smallest = 4096;

  private:
    const std::string path_;
    int reader_ = -1;
};

}  // namespace weft::test
