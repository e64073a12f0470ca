// TraceRing: the most recent events of a carrier, for the flight recorder. docs/explanation/protocol.md section 17,
// docs/adr/0021.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/least.hpp>

namespace weft::detail {

// An event as the recorder encodes it. The ring does not interpret it.
using TraceWords = std::array<std::uint64_t, 4>;

// Any thread writes, any thread reads, and no thread waits. A new event replaces the oldest.
template <class P>
class BasicTraceRing {
  public:
    // `capacity`: 1 or more, rounded up to a power of two. Throws std::bad_alloc.
    explicit BasicTraceRing(std::size_t capacity)
        : size_(std::bit_ceil(capacity)), slots_(std::make_unique<Slot[]>(size_)) {}

    // Drops the event if another thread still writes the slot or has written a later event to it, which requires that a
    // thread was preempted for a whole lap of the ring.
    void record(const TraceWords& words) noexcept {
        const std::uint64_t index = next_.fetch_add(1, std::memory_order_relaxed);  // the slot orders the data
        Slot& slot = slots_[index & (size_ - 1)];
        std::uint64_t seen = slot.turn.load(std::memory_order_relaxed);  // the compare-exchange decides
        // acquire: after the data of the previous turn. [F1]
        if (isBeingWritten(seen) || seen > written(index) ||
            !slot.turn.compare_exchange_strong(seen, writing(index), std::memory_order_acquire,
                                               std::memory_order_relaxed)) {
            dropped_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        for (std::size_t i = 0; i < words.size(); ++i)
            slot.words[i].store(words[i], std::memory_order_release);  // [F2]
        slot.turn.store(written(index), std::memory_order_release);    // [F1] [F3]
    }

    // Calls take(words) for each recorded event, oldest first. Skips events that are written or replaced during the
    // call.
    template <class Take>
    void forEach(Take take) const {
        const std::uint64_t end = next_.load(std::memory_order_relaxed);  // later events are skipped
        for (std::uint64_t index = end - least<std::uint64_t>(end, size_); index != end; ++index) {
            const Slot& slot = slots_[index & (size_ - 1)];
            if (slot.turn.load(std::memory_order_acquire) != written(index)) continue;  // [F3]
            TraceWords words;
            for (std::size_t i = 0; i < words.size(); ++i)
                words[i] = slot.words[i].load(std::memory_order_acquire);  // [F2]
            // relaxed: a word of a later turn, acquired above, makes that turn's mark visible.
            if (slot.turn.load(std::memory_order_relaxed) == written(index)) take(words);
        }
    }

    // Number of events so far, including dropped ones, and number of dropped ones. May be stale.
    std::uint64_t recorded() const noexcept { return next_.load(std::memory_order_relaxed); }
    std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

  private:
    struct Slot {
        typename P::template Atomic<std::uint64_t> turn{0};  // 0: never used; odd: being written
        std::array<typename P::template Atomic<std::uint64_t>, std::tuple_size_v<TraceWords>> words{};
    };

    static constexpr std::uint64_t writing(std::uint64_t index) noexcept { return 2 * index + 1; }
    static constexpr std::uint64_t written(std::uint64_t index) noexcept { return 2 * index + 2; }
    static constexpr bool isBeingWritten(std::uint64_t turn) noexcept { return turn % 2 == 1; }

    const std::size_t size_;
    const std::unique_ptr<Slot[]> slots_;
    alignas(cacheLine) typename P::template Atomic<std::uint64_t> next_{0};
    typename P::template Atomic<std::uint64_t> dropped_{0};
};

}  // namespace weft::detail
