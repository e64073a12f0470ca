#include "uring/uring_buffers.hpp"

#include <algorithm>
#include <new>

#include <sys/mman.h>

#include <weft/scheduler/errors.hpp>

namespace weft {

void UringBuffers::open() {
    const std::size_t size = sizes_.most * sizeof(io_uring_buf);
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uint64_t>(memory);
    registration.ring_entries = sizes_.most;
    registration.bgid = group_;
    const int result = ring_.calls().registerBufferRing(ring_.native(), registration);
    if (result < 0) {
        ::munmap(memory, size);
        throw SystemError(fromErrno(-result), "io_uring_register: ring of provided buffers");
    }
    shared_ = static_cast<io_uring_buf_ring*>(memory);
    io_uring_buf_ring_init(shared_);
    target_ = sizes_.least;
    adjust();
}

void UringBuffers::close() noexcept {
    if (shared_ == nullptr) return;
    ring_.calls().unregisterBufferRing(ring_.native(), group_);
    ::munmap(std::exchange(shared_, nullptr), sizes_.most * sizeof(io_uring_buf));
}

void UringBuffers::prepareReceive(io_uring_sqe& entry, int fd) const noexcept {
    if (sizes_.oneAtATime) {
        io_uring_prep_recv(&entry, fd, nullptr, 0, 0);  // 0: as much as the block holds
    } else {
        io_uring_prep_recv_multishot(&entry, fd, nullptr, 0, 0);
    }
    entry.flags |= IOSQE_BUFFER_SELECT;
    entry.buf_group = group_;
}

// Precondition: the slot is empty, so construct_at() destroys nothing. Leaves it empty if there is no memory.
inline void UringBuffers::provide(unsigned id) noexcept {
    Buffer& block = *std::construct_at(&slots_[id], Buffer::tryAllocate(sizes_.bytes));
    if (!block) [[unlikely]]
        return;
    io_uring_buf_ring_add(shared_, block.writeData(), static_cast<unsigned>(sizes_.bytes),
                          static_cast<unsigned short>(id), static_cast<int>(sizes_.most - 1), 0);
    io_uring_buf_ring_advance(shared_, 1);
    ++provided_;
}

Buffer UringBuffers::take(unsigned flags, std::size_t count) noexcept {
    const unsigned id = flags >> IORING_CQE_BUFFER_SHIFT;
    used_ = true;
    Buffer block(std::move(slots_[id]));
    block.produced(count);
    if (--provided_ < target_) [[likely]]
        provide(id);  // replaces the block
    return block;
}

void UringBuffers::grow() noexcept {
    target_ = std::min(target_ * 2, sizes_.most);
}

[[gnu::cold, gnu::noinline]] bool UringBuffers::provideMissing() noexcept {
    constexpr unsigned fewest = 2;
    target_ = std::min(std::max(target_, fewest), sizes_.most);
    for (unsigned id = 0; provided_ < target_ && id < sizes_.most; ++id) {
        if (!slots_[id]) provide(id);
    }
    return provided_ > 0;
}

void UringBuffers::noteIdle(Duration length) noexcept {
    if (!hasGrown()) return;
    idle_ = std::exchange(used_, false) ? length : idle_ + length;
    if (idle_ >= idleTime && ring_.hasSettled()) shrink();
}

// The kernel takes the oldest blocks first and, since the ring is deferred (hasGrown() requires it), only in system
// calls of this thread. So the newest ones can be withdrawn here without a race.
void UringBuffers::shrink() noexcept {
    target_ = sizes_.least;
    idle_ = {};
    while (provided_ > target_) {
        io_uring_buf_ring_advance(shared_, -1);
        slots_[shared_->bufs[shared_->tail & (sizes_.most - 1)].bid] = Buffer();
        --provided_;
    }
}

}  // namespace weft
