// The inlined steps between the slices of fibers, of the carrier's main loop (carrier_run.cpp) and of fibers that
// switch directly (carrier_switch.cpp). Private to the scheduler.
#pragma once

#include <weft/scheduler/carrier.hpp>

#include "probes.hpp"

namespace weft {

// While one fiber runs, this prefetches the control block and closure of the second next fiber, and the frames of the
// next one.
[[gnu::always_inline]] inline void Carrier::prefetchNext() const noexcept {
    if (!prefetches_) [[likely]]
        return;
    if (const Task* second = core_.queue().peek(1)) static_cast<const detail::Fiber*>(second)->prefetch();
    if (const Task* first = core_.queue().peek(0)) static_cast<const detail::Fiber*>(first)->prefetchFrames();
}

inline Task* Carrier::nextTask(bool& moved) noexcept {
    // Draw no random number for an empty queue: the number of such calls depends on timing, and the order must not.
    if (shuffled_ && core_.queue().depth() > 0) [[unlikely]] {
        core_.queue().promote(shuffle_());
    }
    return core_.queue().pop(moved);
}

// The next switch on this thread is to this fiber.
[[gnu::always_inline]] inline void Carrier::beginSlice(detail::Fiber& fiber) noexcept {
    fiber.running.store(this, std::memory_order_relaxed);
    currentFiber_ = &fiber;
    counters_.run.add();
    WEFT_PROBE2(fiber_run, index_, fiber.id);
}

}  // namespace weft
