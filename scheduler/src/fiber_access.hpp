// What the fiber's life needs of its carrier, and nothing more.
#pragma once

#include <cstdint>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft {

struct FiberAccess {
    static std::uint64_t takeId(Carrier& home) noexcept;
    static void giveStack(const Stack& stack) noexcept { Carrier::giveStack(stack); }
    static detail::Fiber* currentFiber(Carrier& carrier) noexcept { return carrier.currentFiber_; }
    // The stop request has been acted on: waits are refused; context: the carrier.
    static bool stopping(const Carrier& carrier) noexcept { return carrier.core_.stopping(); }
    static void yield(Carrier& carrier, Resumes where) noexcept;
    // Of the fiber that `carrier` runs, whose home it is not.
    static void goHome(Carrier& carrier) noexcept;
    // When the carrier's present drain began; context: the carrier.
    static TimePoint drainBegan(const Carrier& carrier) noexcept { return carrier.drainClock_.began(); }
    static bool yieldIsDue(Carrier& carrier) noexcept {
        const detail::Fiber* fiber = carrier.currentFiber_;
        return fiber != nullptr && !fiber->isPoller && carrier.nonSuspendingDepth_ == 0 && carrier.drainClock_.passed();
    }
    [[noreturn]] static void leave(detail::Fiber& fiber) noexcept;
};

}  // namespace weft
