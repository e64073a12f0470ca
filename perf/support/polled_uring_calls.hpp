// The system calls of io_uring under valgrind, which runs no other thread while one is in io_uring_enter: it blocks in
// a poll() of an eventfd instead. On kernel 6.18 the eventfd stayed silent for the wake-up that stops an idle server;
// the cause is not known. So the poll() ends after 10 ms, and the ring is entered again.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include <liburing.h>

#include <weft/transports/uring/uring_calls.hpp>

namespace weft::perf {

// For one ring. Context: as UringCalls.
class PolledUringCalls final : public UringCalls {
  public:
    ~PolledUringCalls() override { ::close(completions_); }

    int setup(unsigned entries, io_uring& ring, io_uring_params& parameters) noexcept override {
        const int result = UringCalls::setup(entries, ring, parameters);
        return result < 0 ? result : UringCalls::registerEventFd(ring, completions_);
    }
    int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept override {
        const int result = UringCalls::submitAndGetEvents(ring);
        if (result < 0 || io_uring_cq_ready(&ring) > 0) return result;
        pollfd wanted{completions_, POLLIN, 0};
        timespec limit{0, 10'000'000};
        const bool isShorter = timeout != nullptr && timeout->tv_sec == 0 && timeout->tv_nsec < limit.tv_nsec;
        if (isShorter) limit.tv_nsec = static_cast<long>(timeout->tv_nsec);
        if (::ppoll(&wanted, 1, &limit, nullptr) <= 0 && isShorter) return -ETIME;
        std::uint64_t count = 0;
        static_cast<void>(::read(completions_, &count, sizeof count));
        return UringCalls::submitAndGetEvents(ring);
    }
    int registerEventFd(io_uring&, int) noexcept override { return -EBUSY; }

  private:
    const int completions_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
};

}  // namespace weft::perf
