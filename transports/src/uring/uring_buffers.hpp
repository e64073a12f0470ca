// UringBuffers: memory that the kernel receives into: a ring of blocks of the buffer pool. A block that it has filled
// goes up as it is and another one takes its place, so nothing is copied, and a handler that keeps the bytes keeps
// nothing of the ring. The kernel takes them in turn, so few of them are better for the cache than many: their number
// doubles when a receive finds none, and goes back when none has been used for a while.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/scheduler/deadline.hpp>

#include "uring/uring_ring.hpp"

namespace weft {

// Context: the carrier.
class UringBuffers {
  public:
    // The kernel has at first and at rest `least` blocks of `bytes` each, and `most` at most: a power of two up to 32768.
    struct Sizes {
        unsigned least;
        unsigned most;
        std::size_t bytes;
    };
    static constexpr Duration idleTime = std::chrono::seconds(1);

    UringBuffers(UringRing& ring, unsigned short group, Sizes sizes)
        : ring_(ring), group_(group), sizes_(sizes), slots_(std::make_unique<Buffer[]>(sizes.most)) {}
    ~UringBuffers() { close(); }
    UringBuffers(const UringBuffers&) = delete;
    UringBuffers& operator=(const UringBuffers&) = delete;

    // Throws SystemError, std::bad_alloc.
    void open();
    // The ring must be open, and nothing may receive.
    void close() noexcept;

    unsigned short group() const noexcept { return group_; }
    std::size_t bytes() const noexcept { return sizes_.bytes; }
    unsigned provided() const noexcept { return provided_; }
    // What the kernel has received, by the flags of its completion.
    Buffer take(unsigned flags, std::size_t count) noexcept;
    // Call before a receive: provides some blocks if the kernel has none. False: there is no memory for one.
    bool prepare() noexcept { return provided_ > 0 || provideMissing(); }
    // A receive found none. Those of one poll count once.
    void noteRanOut() noexcept { ranOut_ = true; }
    // Once in a poll: gives the kernel what it should have, as far as there is memory.
    void adjust() noexcept {
        if (std::exchange(ranOut_, false)) [[unlikely]]
            grow();
        if (provided_ < wanted_) [[unlikely]]
            provideMissing();
    }
    // True when the kernel has more blocks than at rest and this ring can take them back. The loop then limits its waits to
    // idleTime and reports each wait that ends without a completion to noteIdle().
    bool hasGrown() const noexcept { return wanted_ > sizes_.least && ring_.isDeferred(); }
    // A wait of that length has ended without a completion. After idleTime of such waits without a byte the kernel has as
    // many as at rest.
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
    std::unique_ptr<Buffer[]> slots_;  // by the id that the kernel knows
    unsigned provided_ = 0;            // slots with a block: the kernel has them
    unsigned wanted_ = 0;
    bool ranOut_ = false;
    bool used_ = false;  // since the last idle wait
    Duration idle_{};
};

}  // namespace weft
