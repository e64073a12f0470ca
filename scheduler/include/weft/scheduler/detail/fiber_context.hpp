// FiberContext: a saved machine context, and the switch between two contexts. One translation unit handles the raw
// fcontext record, the C++ exception globals and the sanitizer annotations (docs/adr/0007). Source: Boost.Context's
// fcontext.
#pragma once

#include <cstddef>

namespace weft::detail {

// The C++ runtime's per-thread exception state, of which each fiber needs a copy of its own: the stack of caught
// exceptions and the count of uncaught ones (the layout of __cxa_eh_globals in the Itanium C++ ABI).
struct ExceptionGlobals {
    void* caughtExceptions = nullptr;
    unsigned uncaughtExceptions = 0;
};

struct FiberContext {
    void* saved = nullptr;                // fcontext_t while switched out
    FiberContext* resumedFrom = nullptr;  // the context that switched to this one last
    ExceptionGlobals exceptions;
    const void* stackBottom = nullptr;  // for sanitizers: the lowest address and the size of the stack
    std::size_t stackSize = 0;
    void* asanFakeStack = nullptr;
    void* tsanFiber = nullptr;
};

using FiberEntry = void (*)(FiberContext& self) noexcept;

// Prepares a context that will run entry(self) on the given stack; `top` is one past its highest byte.
void makeContext(FiberContext& context, void* bottom, void* top, FiberEntry entry) noexcept;

// Saves the current context in `from` and resumes `to`; returns when `from` is resumed. `threadExceptions` are the
// calling thread's runtime globals.
void switchContext(FiberContext& from, FiberContext& to, ExceptionGlobals& threadExceptions) noexcept;
// As switchContext(), for a context that will never be resumed.
[[noreturn]] void leaveContext(FiberContext& from, FiberContext& to, ExceptionGlobals& threadExceptions) noexcept;

// The calling thread's globals. Never inlined, so that the compiler does not keep the address across a switch.
ExceptionGlobals& threadExceptionGlobals() noexcept;

// Registers the calling thread's own context with the sanitizers.
void adoptThreadContext(FiberContext& context) noexcept;

// The sanitizer state of a stack. It stays with a pooled stack, because creating it is expensive.
void* createTsanFiber() noexcept;
void destroyTsanFiber(void* fiber) noexcept;
void unpoisonStack(void* bottom, std::size_t size) noexcept;

}  // namespace weft::detail
