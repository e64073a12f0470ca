#include <weft/transports/uring/uring_calls.hpp>

#include <liburing.h>

namespace weft {

int UringCalls::setup(unsigned entries, io_uring& ring, io_uring_params& parameters) noexcept {
    return io_uring_queue_init_params(entries, &ring, &parameters);
}
void UringCalls::exit(io_uring& ring) noexcept {
    io_uring_queue_exit(&ring);
}
int UringCalls::submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept {
    if (timeout == nullptr) return io_uring_submit_and_wait(&ring, 1);
    io_uring_cqe* first = nullptr;
    return io_uring_submit_and_wait_timeout(&ring, &first, 1, timeout, nullptr);
}
int UringCalls::submitAndGetEvents(io_uring& ring) noexcept {
    return io_uring_submit_and_get_events(&ring);
}
int UringCalls::registerBufferRing(io_uring& ring, io_uring_buf_reg& registration) noexcept {
    return io_uring_register_buf_ring(&ring, &registration, 0);
}
int UringCalls::unregisterBufferRing(io_uring& ring, int group) noexcept {
    return io_uring_unregister_buf_ring(&ring, group);
}
int UringCalls::registerRingFd(io_uring& ring) noexcept {
    return io_uring_register_ring_fd(&ring);
}
int UringCalls::unregisterRingFd(io_uring& ring) noexcept {
    return io_uring_unregister_ring_fd(&ring);
}
int UringCalls::registerEventFd(io_uring& ring, int fd) noexcept {
    return io_uring_register_eventfd(&ring, fd);
}
int UringCalls::registerProbe(io_uring& ring, io_uring_probe& answer, unsigned count) noexcept {
    return io_uring_register_probe(&ring, &answer, count);
}

UringCalls& UringCalls::kernel() noexcept {
    static UringCalls calls;
    return calls;
}

}  // namespace weft
