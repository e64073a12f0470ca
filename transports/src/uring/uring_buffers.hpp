// UringBuffers: memory that the kernel receives into: a ring of blocks of the buffer pool. A block that it has filled
// goes up as it is and another one takes its place, so nothing is copied, and a handler that keeps the bytes keeps
// nothing of the ring.
#pragma once

#include <cstddef>
#include <memory>

#include <weft/pipeline/buffer.hpp>

#include "uring/uring_ring.hpp"

namespace weft {

// Context: the carrier.
class UringBuffers {
  public:
    // `count`: a power of two up to 32768, of `bytes` each.
    UringBuffers(UringRing& ring, unsigned short group, unsigned count, std::size_t bytes)
        : ring_(ring), group_(group), count_(count), mask_(count - 1), bytes_(bytes), slots_(std::make_unique<Buffer[]>(count)) {}
    ~UringBuffers() { close(); }
    UringBuffers(const UringBuffers&) = delete;
    UringBuffers& operator=(const UringBuffers&) = delete;

    // Throws SystemError, std::bad_alloc.
    void open();
    // The ring must be open, and nothing may receive.
    void close() noexcept;

    unsigned short group() const noexcept { return group_; }
    std::size_t bytes() const noexcept { return bytes_; }
    // What the kernel has received, by the flags of its completion.
    Buffer take(unsigned flags, std::size_t count) noexcept;
    // Gives the kernel blocks for those that there was no memory for. False: it has none at all.
    bool refill() noexcept;

  private:
    void provide(unsigned id) noexcept;
    void give(unsigned id) noexcept;

    UringRing& ring_;
    const unsigned short group_;
    const unsigned count_;
    const unsigned mask_;
    const std::size_t bytes_;
    io_uring_buf_ring* shared_ = nullptr;
    std::unique_ptr<Buffer[]> slots_;  // by the id that the kernel knows
    unsigned missing_ = 0;             // slots without a block
};

}  // namespace weft
