// Writability: the state behind Channel::isWritable(): the bits that make the channel unwritable, the water marks, and
// the bytes of writes that other threads have submitted (W-3, W-4, TH-4). Owned by the channel, which fires the events.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <weft/pipeline/write_buffer_water_mark.hpp>

namespace weft::detail {

// Context: any thread. All operations are relaxed: they order no other data, and off the loop the answers are hints.
class Writability {
  public:
    static constexpr std::uint32_t tooManyBytes = 1;  // bits 1 to 31 are the application's

    bool isWritable() const noexcept { return unwritable_.load(std::memory_order_relaxed) == 0; }
    bool hasTooManyBytes() const noexcept { return unwritable_.load(std::memory_order_relaxed) & tooManyBytes; }
    // Sets the bits in `set` and clears those in `clear`; a bit in both ends up set. True if that changed isWritable().
    bool change(std::uint32_t set, std::uint32_t clear) noexcept {
        std::uint32_t before = unwritable_.load(std::memory_order_relaxed);
        while (!unwritable_.compare_exchange_weak(before, (before & ~clear) | set, std::memory_order_relaxed)) {
        }
        const std::uint32_t after = (before & ~clear) | set;
        return (before == 0) != (after == 0);
    }

    // Bytes of writes that were posted and have not run.
    std::size_t submitted() const noexcept { return submitted_.load(std::memory_order_relaxed); }
    void addSubmitted(std::size_t bytes) noexcept { submitted_.fetch_add(bytes, std::memory_order_relaxed); }
    void subtractSubmitted(std::size_t bytes) noexcept { submitted_.fetch_sub(bytes, std::memory_order_relaxed); }

    // Copies of the channel's option for other threads; the loop writes them.
    std::size_t low() const noexcept { return low_.load(std::memory_order_relaxed); }
    std::size_t high() const noexcept { return high_.load(std::memory_order_relaxed); }
    void setMarks(const WriteBufferWaterMark& marks) noexcept {
        low_.store(marks.low(), std::memory_order_relaxed);
        high_.store(marks.high(), std::memory_order_relaxed);
    }

  private:
    std::atomic<std::uint32_t> unwritable_{0};  // bit 0: too many pending bytes; 1..31: the application's
    std::atomic<std::size_t> submitted_{0};
    std::atomic<std::size_t> low_{WriteBufferWaterMark::defaultLow};
    std::atomic<std::size_t> high_{WriteBufferWaterMark::defaultHigh};
};

}  // namespace weft::detail
