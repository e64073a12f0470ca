// FiberAccess: access to the parts of a carrier that the fibers' implementation needs.
#pragma once

#include <cstdint>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft {

struct FiberAccess {
    static void giveStack(const Stack& stack) noexcept { Carrier::giveStack(stack); }
    static detail::Fiber* currentFiber(const Carrier& carrier) noexcept { return carrier.currentFiber_; }
    // The calling fiber; null on a plain thread. Context: any thread.
    static detail::Fiber* currentFiber() noexcept {
        Carrier* const carrier = Carrier::current();
        return carrier != nullptr ? currentFiber(*carrier) : nullptr;
    }
    // True while it has more fibers than the cache holds, as it last saw. Context: the carrier.
    static bool prefetches(const Carrier& carrier) noexcept { return carrier.prefetches_; }
    // True if no other carrier runs fibers whose home this is. Context: the carrier.
    static bool keepsItsFibers(const Carrier& carrier) noexcept { return carrier.helper_ == nullptr; }
    static const detail::FloatControl& floatControl(const Carrier& carrier) noexcept {
        return carrier.threadContext_.floatControl;
    }
    // True once the carrier acts on its stop request and refuses waits. Context: the carrier.
    static bool stopping(const Carrier& carrier) noexcept { return carrier.core_.stopping(); }
    static void yield(Carrier& carrier, Resumes where) noexcept;
    // Moves the fiber that `carrier` runs, whose home is another carrier, to its home.
    static void goHome(Carrier& carrier) noexcept;
    // When the carrier's current run of fibers began. Context: the carrier.
    static TimePoint fiberRunBegan(const Carrier& carrier) noexcept { return carrier.fiberRunClock_.began(); }
    static bool yieldIsDue(Carrier& carrier) noexcept {
        const detail::Fiber* fiber = carrier.currentFiber_;
        return fiber != nullptr && !fiber->isPoller && carrier.nonSuspendingDepth_ == 0 &&
               carrier.fiberRunClock_.passed();
    }
    static void arrive(const detail::Fiber& fiber) noexcept;
    [[noreturn]] static void leave(detail::Fiber& fiber) noexcept;
};

}  // namespace weft
