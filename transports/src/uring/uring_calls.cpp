#include <weft/transports/uring/uring_calls.hpp>

#include <liburing.h>

namespace weft {

namespace {

class KernelCalls final : public UringCalls {
  public:
    int setup(unsigned entries, io_uring& ring, io_uring_params& parameters) noexcept override {
        return io_uring_queue_init_params(entries, &ring, &parameters);
    }
    void exit(io_uring& ring) noexcept override { io_uring_queue_exit(&ring); }
    int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept override {
        if (timeout == nullptr) return io_uring_submit_and_wait(&ring, 1);
        io_uring_cqe* first = nullptr;
        return io_uring_submit_and_wait_timeout(&ring, &first, 1, timeout, nullptr);
    }
    int submitAndGetEvents(io_uring& ring) noexcept override { return io_uring_submit_and_get_events(&ring); }
    int registerBufferRing(io_uring& ring, io_uring_buf_reg& registration) noexcept override {
        return io_uring_register_buf_ring(&ring, &registration, 0);
    }
    int unregisterBufferRing(io_uring& ring, int group) noexcept override {
        return io_uring_unregister_buf_ring(&ring, group);
    }
    int registerRingFd(io_uring& ring) noexcept override { return io_uring_register_ring_fd(&ring); }
    int unregisterRingFd(io_uring& ring) noexcept override { return io_uring_unregister_ring_fd(&ring); }
    int registerEventFd(io_uring& ring, int fd) noexcept override { return io_uring_register_eventfd(&ring, fd); }
    int registerProbe(io_uring& ring, io_uring_probe& answer, unsigned count) noexcept override {
        return io_uring_register_probe(&ring, &answer, count);
    }
};

}  // namespace

UringCalls& UringCalls::kernel() noexcept {
    static KernelCalls calls;
    return calls;
}

}  // namespace weft
