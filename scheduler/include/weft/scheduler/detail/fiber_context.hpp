// FiberContext: a saved machine context with the C++ exception globals and what the sanitizers know of it. The switch
// between two contexts is in src/context_switch.hpp (docs/adr/0007, docs/adr/0032).
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

// The C++ runtime's per-thread exception state, of which each fiber needs a copy of its own: the stack of caught
// exceptions and the count of uncaught ones (the layout of __cxa_eh_globals in the Itanium C++ ABI).
struct ExceptionGlobals {
    bool empty() const noexcept { return caughtExceptions == nullptr && uncaughtExceptions == 0; }

    void* caughtExceptions = nullptr;
    unsigned uncaughtExceptions = 0;
};

// The control registers of floating-point arithmetic, which a call preserves: rounding, precision, masked exceptions.
struct FloatControl {
    std::uint32_t mxcsr = 0;
    std::uint16_t x87 = 0;
};

struct FiberContext {
    FiberContext() = default;
    // Of a fiber; `top` is one past the highest byte of its stack.
    FiberContext(const FloatControl& control, std::byte* bottom, std::byte* top, void* tsan) noexcept
        : floatControl(control),
          stackBottom(bottom),
          stackSize(static_cast<std::size_t>(top - bottom)),
          tsanFiber(tsan) {}

    // While switched out: what the switch restores. Without the inline switch, stackPointer is the fcontext_t.
    void* stackPointer = nullptr;
    void* framePointer = nullptr;
    void* base = nullptr;  // a compiler may address a frame by this register
    const void* next = nullptr;
    FloatControl floatControl;
    ExceptionGlobals exceptions;
    FiberContext* resumedFrom = nullptr;  // for fcontext: the context that switched to this one last
    const void* stackBottom = nullptr;    // for sanitizers: the lowest address and the size of the stack
    std::size_t stackSize = 0;
    void* asanFakeStack = nullptr;
    void* tsanFiber = nullptr;
};

// A context's first function; `from` is the context that has switched to it. It must never return.
using FiberEntry = void (*)(FiberContext* from, FiberContext* self) noexcept;

// The calling thread's globals. Never inlined, so that the compiler does not keep the address across a switch.
ExceptionGlobals& threadExceptionGlobals() noexcept;

// Keeps the calling thread's control registers, without status flags, as those of a thread that it will create.
void keepFloatControl(FiberContext& context) noexcept;
// Makes `context`, in which keepFloatControl() has been called, the calling thread's own.
void adoptThreadContext(FiberContext& context) noexcept;

// The sanitizer state of a stack. It stays with a pooled stack, because creating it is expensive.
void* createTsanFiber() noexcept;
void destroyTsanFiber(void* fiber) noexcept;

}  // namespace weft::detail
