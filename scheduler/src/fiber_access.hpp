// What the fiber's life needs of its carrier, and nothing more.
#pragma once

#include <cstdint>

#include <weft/scheduler/carrier.hpp>

namespace weft {

struct FiberAccess {
    static std::uint64_t takeId(Carrier& home) noexcept;
    static void giveStack(Carrier& home, const Stack& stack) noexcept { home.giveStack(stack); }
    static detail::Fiber* currentFiber(Carrier& carrier) noexcept { return carrier.currentFiber_; }
    static bool nonSuspending(const Carrier& carrier) noexcept { return carrier.nonSuspendingDepth_ != 0; }
    static void yield(Carrier& carrier) noexcept;
    [[noreturn]] static void leave(detail::Fiber& fiber) noexcept;
};

}  // namespace weft
