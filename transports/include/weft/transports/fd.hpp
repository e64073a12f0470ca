// Fd: owns one file descriptor and closes it through the system-call layer that opened it.
#pragma once

#include <utility>

#include <weft/transports/system_calls.hpp>

namespace weft {

// Move-only. Context: any thread, one at a time. Closing a socket never blocks, because setting SO_LINGER > 0 is
// refused.
class Fd {
  public:
    Fd() noexcept = default;
    explicit Fd(int fd, SystemCalls& calls = SystemCalls::kernel()) noexcept : fd_(fd), calls_(&calls) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)), calls_(other.calls_) {}
    Fd& operator=(Fd&& other) noexcept {
        if (this != &other) {
            close();
            fd_ = std::exchange(other.fd_, -1);
            calls_ = other.calls_;
        }
        return *this;
    }
    ~Fd() { close(); }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    void close() noexcept {
        if (fd_ >= 0) calls_->close(std::exchange(fd_, -1));
    }

  private:
    int fd_ = -1;
    SystemCalls* calls_ = nullptr;
};

}  // namespace weft
