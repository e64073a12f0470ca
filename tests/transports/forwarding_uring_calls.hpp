// ForwardingUringCalls: hands each call of io_uring to the kernel; a test overrides those that it scripts.
#pragma once

#include <weft/transports/uring/uring_calls.hpp>

namespace weft::test {

class ForwardingUringCalls : public UringCalls {
  public:
    int setup(unsigned entries, io_uring& ring, io_uring_params& parameters) noexcept override {
        return kernel_.setup(entries, ring, parameters);
    }
    void exit(io_uring& ring) noexcept override { kernel_.exit(ring); }
    int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept override {
        return kernel_.submitAndWait(ring, timeout);
    }
    int submitAndGetEvents(io_uring& ring) noexcept override { return kernel_.submitAndGetEvents(ring); }
    int registerBufferRing(io_uring& ring, io_uring_buf_reg& registration) noexcept override {
        return kernel_.registerBufferRing(ring, registration);
    }
    int unregisterBufferRing(io_uring& ring, int group) noexcept override { return kernel_.unregisterBufferRing(ring, group); }
    int registerRingFd(io_uring& ring) noexcept override { return kernel_.registerRingFd(ring); }
    int unregisterRingFd(io_uring& ring) noexcept override { return kernel_.unregisterRingFd(ring); }
    int registerEventFd(io_uring& ring, int fd) noexcept override { return kernel_.registerEventFd(ring, fd); }
    int registerProbe(io_uring& ring, io_uring_probe& answer, unsigned count) noexcept override {
        return kernel_.registerProbe(ring, answer, count);
    }

  private:
    UringCalls& kernel_ = UringCalls::kernel();
};

}  // namespace weft::test
