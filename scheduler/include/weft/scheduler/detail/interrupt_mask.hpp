// InterruptMask: whether a task's wait may be ended without a key, by a cancellation or by the shutdown.
// docs/explanation/protocol.md section 2.
#pragma once

#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/park_token.hpp>

namespace weft::detail {

// The word: [uninterruptible:1 | shields:31]. Only the task writes it, so a load and a store suffice. All orders are
// relaxed: a thread that wants to end a parked wait first reads the park word, and thereby acquires what the task wrote
// before the commit [T1]. If the mask has changed since, that wait is over and the claim fails.
template <class P>
class BasicInterruptMask {
  public:
    using Park = BasicParkToken<P>;

    // --- Context: the task. Shields nest; uninterruptible waits do not.
    void shield() noexcept { store(value() + 1); }
    void unshield() noexcept { store(value() - 1); }
    void beginUninterruptible() noexcept { store(value() | uninterruptible); }
    void endUninterruptible() noexcept { store(value() & ~uninterruptible); }

    // --- Context: any thread that keeps the task alive.
    bool holdsOffCancellation() const noexcept { return value() != 0; }
    // The epoch of the parked wait, for a WakeKey that its fiber has not given out; 0: none, or a cancellation may not
    // end it now.
    typename Park::Epoch cancellableEpoch(const Park& park) const noexcept {
        const auto epoch = park.parkedEpoch();
        return epoch != 0 && !holdsOffCancellation() ? epoch : 0;
    }
    // The same for the shutdown.
    typename Park::Epoch abortableEpoch(const Park& park) const noexcept {
        const auto epoch = park.parkedEpoch();
        return epoch != 0 && (value() & uninterruptible) == 0 ? epoch : 0;
    }

  private:
    static constexpr std::uint32_t uninterruptible = std::uint32_t{1} << 31;

    std::uint32_t value() const noexcept { return word_.load(std::memory_order_relaxed); }
    void store(std::uint32_t value) noexcept { word_.store(value, std::memory_order_relaxed); }

    typename P::template Atomic<std::uint32_t> word_{0};
};

using InterruptMask = BasicInterruptMask<NativeAtomics>;

}  // namespace weft::detail
