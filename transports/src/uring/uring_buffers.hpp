// UringBuffers: memory that the kernel receives into: a ring of blocks from the buffer pool. A filled block is passed
// up and a fresh one takes its place, so that nothing is copied and a handler that keeps the bytes keeps no part of the
// ring. The kernel uses the blocks in turn, so a small number is better for the cache. The number doubles when a
// receive finds no block, and shrinks back when none has been used for a while.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/scheduler/clock.hpp>

#include "uring/uring_ring.hpp"

namespace weft {

// Context: the carrier.
class UringBuffers {
  public:
    // The kernel starts with `least` blocks of `bytes` each, also at rest, and gets up to `most`: a power of two up to
    // 32768. `oneAtATime`: a receive takes one block, not all that come.
    struct Sizes {
        unsigned least;
        unsigned most;
        std::size_t bytes;
        bool oneAtATime;
    };
    static constexpr Duration idleTime = std::chrono::seconds(1);

    UringBuffers(UringRing& ring, unsigned short group, Sizes sizes)
        : ring_(ring), group_(group), sizes_(sizes), slots_(std::make_unique<Buffer[]>(sizes.most)) {}
    ~UringBuffers() { close(); }
    UringBuffers(const UringBuffers&) = delete;
    UringBuffers& operator=(const UringBuffers&) = delete;

    // Throws SystemError, std::bad_alloc.
    void open();
    // The ring must be open, and no receive may be in flight.
    void close() noexcept;

    std::size_t bytes() const noexcept { return sizes_.bytes; }
    unsigned provided() const noexcept { return provided_; }
    // Fills the entry of a receive. Into small buffers it goes on until it is cancelled; it may have filled up to 32 by
    // then. Into large ones, of which a connection that reads no more would hold half a megabyte, it takes one piece.
    void prepareReceive(io_uring_sqe& entry, int fd) const noexcept;
    // Takes the received bytes, from the block that the completion's flags name.
    Buffer take(unsigned flags, std::size_t count) noexcept;
    // Call it before a receive: provides blocks if the kernel has none. Returns false when there is no memory for even
    // one.
    bool prepare() noexcept { return provided_ > 0 || provideMissing(); }
    // Records that a receive found no block. Several within one poll count once.
    void noteRanOut() noexcept { ranOut_ = true; }
    // Called once per poll: provides the number of blocks that the kernel should have, as far as memory allows.
    void adjust() noexcept {
        if (std::exchange(ranOut_, false)) [[unlikely]]
            grow();
        if (provided_ < target_) [[unlikely]]
            provideMissing();
    }
    // True when the kernel has more blocks than at rest and this ring can take them back. The loop then limits its
    // waits to idleTime and reports each wait that ends without a completion to noteIdle().
    bool hasGrown() const noexcept { return target_ > sizes_.least && ring_.isDeferred(); }
    // Records a wait of `length` that ended without a completion. After idleTime of such waits without a received byte,
    // the number of blocks returns to that at rest.
    void noteIdle(Duration length) noexcept;

  private:
    void grow() noexcept;
    void shrink() noexcept;
    bool provideMissing() noexcept;
    void provide(unsigned id) noexcept;

    UringRing& ring_;
    const unsigned short group_;
    const Sizes sizes_;
    io_uring_buf_ring* shared_ = nullptr;
    std::unique_ptr<Buffer[]> slots_;  // by the id that the kernel uses
    unsigned provided_ = 0;            // slots whose block the kernel has
    unsigned target_ = 0;
    bool ranOut_ = false;
    bool used_ = false;  // since the last idle wait
    Duration idle_{};
};

}  // namespace weft
