// The system calls of io_uring for an instrument that lets no other thread run while one is in io_uring_enter (valgrind):
// what blocks is a poll() of an eventfd.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include <liburing.h>

#include <weft/transports/uring/uring_calls.hpp>

namespace weft::perf {

/// Of one ring. Context: as UringCalls.
class PolledUringCalls final : public ForwardingUringCalls {
  public:
    ~PolledUringCalls() override { ::close(completions_); }

    int setup(unsigned entries, io_uring& ring, io_uring_params& parameters) noexcept override {
        const int result = ForwardingUringCalls::setup(entries, ring, parameters);
        return result < 0 ? result : ForwardingUringCalls::registerEventFd(ring, completions_);
    }
    int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept override {
        const int result = ForwardingUringCalls::submitAndGetEvents(ring);
        if (result < 0 || io_uring_cq_ready(&ring) > 0) return result;
        pollfd wanted{completions_, POLLIN, 0};
        timespec limit{};
        if (timeout != nullptr) limit = {timeout->tv_sec, static_cast<long>(timeout->tv_nsec)};
        if (::ppoll(&wanted, 1, timeout != nullptr ? &limit : nullptr, nullptr) <= 0) return -ETIME;
        std::uint64_t count = 0;
        static_cast<void>(::read(completions_, &count, sizeof count));
        return ForwardingUringCalls::submitAndGetEvents(ring);
    }
    int registerEventFd(io_uring&, int) noexcept override { return -EBUSY; }

  private:
    const int completions_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
};

}  // namespace weft::perf
