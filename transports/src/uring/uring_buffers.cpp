#include "uring/uring_buffers.hpp"

#include <new>
#include <utility>

#include <sys/mman.h>

#include <weft/scheduler/errors.hpp>

namespace weft {

void UringBuffers::open() {
    const std::size_t size = count_ * sizeof(io_uring_buf);
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uint64_t>(memory);
    registration.ring_entries = count_;
    registration.bgid = group_;
    const int result = ring_.calls().registerBufferRing(ring_.native(), registration);
    if (result < 0) {
        ::munmap(memory, size);
        throw SystemError(fromErrno(-result), "io_uring_register: ring of buffers");
    }
    shared_ = static_cast<io_uring_buf_ring*>(memory);
    io_uring_buf_ring_init(shared_);
    for (unsigned id = 0; id < count_; ++id) provide(id);
}

void UringBuffers::close() noexcept {
    if (shared_ == nullptr) return;
    ring_.calls().unregisterBufferRing(ring_.native(), group_);
    ::munmap(std::exchange(shared_, nullptr), count_ * sizeof(io_uring_buf));
}

void UringBuffers::provide(unsigned id) noexcept {
    slots_[id] = Buffer::tryAllocate(bytes_);
    give(id);
}

inline void UringBuffers::give(unsigned id) noexcept {
    Buffer& block = slots_[id];
    if (!block) [[unlikely]] {
        ++missing_;
        return;
    }
    io_uring_buf_ring_add(shared_, block.writeData(), static_cast<unsigned>(bytes_), static_cast<unsigned short>(id),
                          static_cast<int>(mask_), 0);
    io_uring_buf_ring_advance(shared_, 1);
}

Buffer UringBuffers::take(unsigned flags, std::size_t count) noexcept {
    const unsigned id = flags >> IORING_CQE_BUFFER_SHIFT;
    Buffer block = Buffer::tryAllocate(bytes_);  // in its stead
    block.swap(slots_[id]);
    give(id);
    block.produced(count);
    return block;
}

bool UringBuffers::refill() noexcept {
    if (missing_ == 0) [[likely]]
        return true;
    const unsigned missed = std::exchange(missing_, 0);
    for (unsigned id = 0, left = missed; left > 0 && id < count_; ++id) {
        if (slots_[id]) continue;
        --left;
        provide(id);
    }
    return missing_ < count_;
}

}  // namespace weft
